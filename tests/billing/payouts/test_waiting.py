"""A payout that waits to be sent, while what it was made of is taken back: it fails, and its money is kept."""

import pytest
import time_machine

from accounts.models import User
from billing.models import ConnectedAccount, Payout
from billing.payouts.bank_export import export_batch
from billing.payouts.transfers import send_payouts
from billing.people.account_links import record_card
from tests.billing.money import UNIT, assert_sound, make_user
from tests.billing.payouts.connect import CONNECTED, Connect
from tests.billing.payouts.world import (
    NOW,
    account,
    ask,
    balance,
    days_ago,
    disputed_after_use,
    earn,
    payable,
    take_back,
    top_up,
)

pytestmark = pytest.mark.django_db


def exported() -> str:
    with time_machine.travel(NOW, tick=False):
        return export_batch(actor="staff")


def failed(payout: Payout) -> bool:
    payout.refresh_from_db()
    return payout.state == "failed"


@pytest.mark.parametrize("state", ["open", "lost"])
def test_what_a_bank_took_back_meanwhile_is_not_exported(hana: User, alice: User, state: str) -> None:
    payment = top_up(alice, 100, at=days_ago(50))
    earn(hana, 100, ago=45, renter=alice, granted=False)
    account(hana)
    payout = ask(hana, at=days_ago(2))
    take_back(payment, at=days_ago(1), state=state)
    assert exported() == ""
    assert failed(payout) and "taken back" in payout.failure
    assert (balance(hana), payable(hana).payable_micros) == (90 * UNIT, 0)
    assert_sound(NOW)


def test_a_dispute_that_was_won_stops_nothing(hana: User, alice: User) -> None:
    payment = top_up(alice, 100, at=days_ago(50))
    earn(hana, 100, ago=45, renter=alice, granted=False)
    account(hana)
    payout = ask(hana, at=days_ago(2))
    take_back(payment, at=days_ago(1), state="won")
    assert exported()
    assert not failed(payout)


def test_what_is_left_answers_first(hana: User, alice: User) -> None:
    """45 of 90 are on their way, and 40 in question: the rest covers them."""
    payment = top_up(alice, 50, at=days_ago(50))
    earn(hana, 50, ago=45, renter=alice, granted=False)
    earn(hana, 50, ago=45)
    account(hana)
    payout = ask(hana, 45 * UNIT, at=days_ago(2))
    take_back(payment, at=days_ago(1))
    assert exported()
    assert not failed(payout)
    assert payable(hana).payable_micros == 0


def test_a_debt_of_the_same_person_is_set_off_before_it_leaves(hana: User, alice: User) -> None:
    earn(hana, 100, ago=45)
    account(hana)
    payout = ask(hana, at=days_ago(2))
    for user in (hana, alice):
        record_card(owner_id=user.pk, fingerprint="fp_shared")
    disputed_after_use(alice, make_user("other-host"), 500)
    assert exported() == ""
    assert failed(payout)


def test_new_earnings_and_their_reserve_stop_nothing(hana: User) -> None:
    earn(hana, 100, ago=45)
    account(hana)
    payout = ask(hana, at=days_ago(2))
    earn(hana, 100, ago=1)
    assert exported()
    assert not failed(payout)


def test_nor_does_it_go_to_stripe_once_the_account_is_finished(connect: Connect, hana: User, alice: User) -> None:
    payment = top_up(alice, 100, at=days_ago(50))
    earn(hana, 100, ago=45, renter=alice, granted=False)
    account(hana, "stripe", stripe_account_id=CONNECTED)
    row = ConnectedAccount.objects.create(owner=hana, account_id=CONNECTED, is_ready=True)
    payout = ask(hana, at=days_ago(9))
    ConnectedAccount.objects.filter(pk=row.pk).update(is_ready=False)
    with time_machine.travel(days_ago(8), tick=False):
        send_payouts(now=days_ago(8))
    take_back(payment, at=days_ago(5))
    ConnectedAccount.objects.filter(pk=row.pk).update(is_ready=True)
    with time_machine.travel(NOW, tick=False):
        send_payouts(now=NOW)
    assert failed(payout)
    assert balance(hana) == 90 * UNIT
