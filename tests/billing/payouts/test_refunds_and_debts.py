"""Refunds to the card and repayments are no way of making clean what somebody owes, and gifts are no cash for them."""

import uuid

import pytest
import time_machine

from accounts.models import User
from billing.debts.services import collect_debts
from billing.errors import RefundRefused
from billing.ledger.trace_selectors import owed_money
from billing.models import Payment, Refund
from billing.payments.refunds import apply_refunds, refund_own
from billing.stripe.objects import RemoteRefund
from billing.transfers.services import transfer_money
from common.db.transactions import use_case
from tests.billing.money import UNIT, assert_sound, grant, make_user, wallet
from tests.billing.payouts.test_gifts import team_of
from tests.billing.payouts.world import NOW, days_ago, earn, payable, take_back, top_up
from tests.instances.fake_host import refused

pytestmark = pytest.mark.django_db


def refund(payment: Payment, units: int, *, ago: float = 49) -> Refund:
    with time_machine.travel(days_ago(ago), tick=False):
        found = Payment.objects.get(pk=payment.pk)
        return refund_own(payment=found, amount_micros=units * UNIT, refund_id=uuid.uuid4())


def pass_on(sender: User, to: User, units: int, *, team: User | None = None) -> None:
    lab = team_of(*[user for user in (team, sender, to) if user is not None])
    with time_machine.travel(days_ago(49), tick=False):
        transfer_money(sender=sender, team_id=lab.pk, to_id=to.pk, amount_micros=units * UNIT)


def follow() -> None:
    with time_machine.travel(NOW, tick=False):
        collect_debts()
    assert_sound(NOW)


def test_the_refund_of_another_payment_keeps_the_hosts_share_back(hana: User, alice: User) -> None:
    first, second = (top_up(alice, 100, at=days_ago(50)) for _ in range(2))
    refund(second, 100)
    earn(hana, 100, ago=45, renter=alice, granted=False)
    take_back(first, at=days_ago(44), state="lost")
    follow()
    assert (payable(hana).disputed_micros, payable(hana).payable_micros) == (90 * UNIT, 0)


def test_nor_does_the_refund_of_who_got_the_money_by_a_transfer(hana: User, alice: User, bob: User) -> None:
    first, second = top_up(alice, 100, at=days_ago(50)), top_up(bob, 100, at=days_ago(50))
    pass_on(alice, bob, 100)
    refund(second, 100)
    earn(hana, 100, ago=45, renter=bob, granted=False)
    take_back(first, at=days_ago(44), state="lost")
    follow()
    assert (payable(hana).disputed_micros, payable(hana).payable_micros) == (90 * UNIT, 0)


@pytest.mark.parametrize("state", ["open", "lost"])
def test_a_dispute_that_another_stolen_card_has_paid_frees_nothing(hana: User, alice: User, state: str) -> None:
    """The first card is spent; the second pays for its dispute, so that nothing is owed, and is taken back itself."""
    first = top_up(alice, 100, at=days_ago(50))
    earn(hana, 100, ago=45, renter=alice, granted=False)
    second = top_up(alice, 100, at=days_ago(44))
    take_back(first, at=days_ago(43), state=state)
    assert payable(hana).payable_micros == 90 * UNIT, "nothing is owed yet"
    take_back(second, at=days_ago(42), state=state)
    follow()
    assert wallet(alice, "debt").balance_micros == -100 * UNIT
    assert (payable(hana).disputed_micros, payable(hana).payable_micros) == (90 * UNIT, 0)


def test_nor_does_a_refund_that_a_stolen_card_has_paid(hana: User, alice: User) -> None:
    """The own card is spent at a friend's host and comes back to its holder out of what the stolen one brought."""
    own = top_up(alice, 100, at=days_ago(52))
    earn(hana, 100, ago=51, renter=alice, granted=False)
    stolen = top_up(alice, 100, at=days_ago(50))
    refund(own, 100, ago=48)
    take_back(stolen, at=days_ago(44), state="lost")
    follow()
    assert (payable(hana).disputed_micros, payable(hana).payable_micros) == (90 * UNIT, 0)


def test_nor_does_a_dispute_that_a_friends_stolen_card_has_paid(hana: User, alice: User, bob: User) -> None:
    first = top_up(alice, 100, at=days_ago(52))
    earn(hana, 100, ago=51, renter=alice, granted=False)
    stolen = top_up(bob, 100, at=days_ago(50))
    pass_on(bob, alice, 100)
    take_back(first, at=days_ago(46), state="lost")
    take_back(stolen, at=days_ago(44), state="lost")
    follow()
    assert wallet(bob, "debt").balance_micros == -100 * UNIT
    assert (payable(hana).disputed_micros, payable(hana).payable_micros) == (90 * UNIT, 0)


def test_a_refund_of_what_was_unspent_puts_nobody_in_question(hana: User, alice: User) -> None:
    """40 of the own card are spent and 60 go back before the stolen one comes: the first host has been paid well."""
    own, other = top_up(alice, 100, at=days_ago(52)), make_user("other-host")
    earn(hana, 40, ago=51, renter=alice, granted=False)
    refund(own, 60, ago=50)
    stolen = top_up(alice, 100, at=days_ago(49))
    earn(other, 100, ago=48, renter=alice, granted=False)
    take_back(stolen, at=days_ago(44), state="lost")
    follow()
    assert (payable(hana).payable_micros, payable(other).payable_micros) == (36 * UNIT, 0)


def test_the_refund_of_its_own_part_is_not_asked_for_twice(hana: User, alice: User) -> None:
    """100 of 200: 40 are back on the card already, so that only 60 were taken back after use."""
    first, _second = (top_up(alice, 100, at=days_ago(50)) for _ in range(2))
    refund(first, 40)
    earn(hana, 160, ago=45, renter=alice, granted=False)
    take_back_rest(first, 60)
    follow()
    assert payable(hana).disputed_micros == 60 * UNIT


def take_back_rest(payment: Payment, units: int) -> None:
    found = Payment.objects.get(pk=payment.pk)
    found.amount_micros = units * UNIT  # what the bank disputes
    take_back(found, at=days_ago(44), state="lost")


def test_a_refund_that_failed_has_taken_nothing(hana: User, alice: User) -> None:
    payment = top_up(alice, 100, at=days_ago(50))
    made = refund(payment, 100)
    remote = RemoteRefund(
        id="re_1", status="failed", amount_micros=100 * UNIT, refund_id=made.pk, intent_id="", created_at=days_ago(49)
    )
    with time_machine.travel(days_ago(48), tick=False), use_case():
        apply_refunds(payment=Payment.objects.get(pk=payment.pk), remotes=[remote])
    earn(hana, 100, ago=45, renter=alice, granted=False)
    take_back(Payment.objects.get(pk=payment.pk), at=days_ago(44), state="lost")
    follow()
    assert sum(owed_money().owes.values()) == 100 * UNIT
    assert payable(hana).payable_micros == 0


# -- gifts are no cash


def give(user: User, *, ago: float) -> None:
    with time_machine.travel(days_ago(ago), tick=False):
        grant(user, 100 * UNIT)


def test_a_gift_stays_when_the_cash_beside_it_was_passed_on(hana: User, alice: User, bob: User) -> None:
    give(alice, ago=50)
    payment = top_up(alice, 100, at=days_ago(50))
    pass_on(alice, bob, 60, team=hana)
    with pytest.raises(RefundRefused, match=r"At most 40\.00"), refused():
        refund(payment, 41)
    assert refund(payment, 40).amount_micros == 40 * UNIT
    assert wallet(alice).balance_micros == 100 * UNIT
    assert_sound(NOW)


def test_a_gift_pays_no_dispute(hana: User, alice: User, bob: User) -> None:
    give(alice, ago=50)
    payment = top_up(alice, 100, at=days_ago(50))
    pass_on(alice, bob, 100)
    earn(hana, 100, ago=45, renter=bob, granted=False)
    take_back(payment, at=days_ago(44), state="lost")
    follow()
    assert (wallet(alice).balance_micros, wallet(alice, "debt").balance_micros) == (100 * UNIT, -100 * UNIT)
    assert (payable(hana).disputed_micros, payable(hana).payable_micros) == (90 * UNIT, 0)


def test_nor_does_it_repay_the_debt_later(hana: User, alice: User) -> None:
    payment = top_up(alice, 100, at=days_ago(50))
    earn(hana, 100, ago=45, renter=alice, granted=False)
    take_back(payment, at=days_ago(44), state="lost")
    give(alice, ago=20)
    follow()
    assert (wallet(alice).balance_micros, wallet(alice, "debt").balance_micros) == (100 * UNIT, -100 * UNIT)
    assert payable(hana).payable_micros == 0
