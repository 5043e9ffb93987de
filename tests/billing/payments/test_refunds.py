"""Refunds: only unspent cash, never more than was paid, at Stripe once however often an answer is lost."""

from datetime import timedelta
from uuid import uuid4

import pytest
import time_machine
from django.db import IntegrityError, transaction

from accounts.models import User
from billing.errors import RefundRefused, StripeUnreachable
from billing.models import Entry, Payment, Payout, Posting, Refund
from billing.payments.payments import check_payment
from billing.payments.reconcile_stripe import request_reconciliation, run_reconciliation
from billing.payments.refunds import refund_own, refund_payment, send_refund, send_refunds
from billing.payments.selectors import refundable_micros, unspent_cash_micros
from billing.payouts.payouts import request_payout
from common import clock
from common.errors import InvalidInput, NotFound
from tests.billing.money import START, UNIT, Source, at, grant
from tests.billing.payments.conftest import Market, balance, outside
from tests.billing.payouts.world import account

pytestmark = pytest.mark.django_db


def refund(payment: Payment, units: int, **more: object) -> Refund:
    options = {"reason": "asked", "actor": "staff:test", "refund_id": uuid4(), **more}
    return refund_payment(payment_id=payment.pk, amount_micros=units * UNIT, **options)  # type: ignore[arg-type]  # by name


def test_a_part_goes_back_to_the_card(market: Market, alice: User) -> None:
    payment = market.paid(alice, 100)
    part = refund(payment, 30)
    assert (balance(alice), outside(), part.state) == (70 * UNIT, 70 * UNIT, "pending")
    assert send_refund(refund_id=part.pk)
    part.refresh_from_db()
    assert (part.state, part.stripe_id is not None, market.stripe.balance()) == ("succeeded", True, 70 * 100)
    market.deliver_all()
    assert (balance(alice), Posting.objects.filter(kind="refund").count()) == (70 * UNIT, 1)
    entries = Entry.objects.filter(wallet__owner=alice).order_by("id")
    assert list(entries.values_list("amount_micros", flat=True)) == [
        100 * UNIT,
        -30 * UNIT,
    ]


def test_fault_079_parts_never_exceed_the_payment(market: Market, alice: User) -> None:
    """I12 and fault 79: refused in words, and by the database."""
    payment, other = market.paid(alice, 50), market.paid(alice, 100)
    refund(payment, 30)
    with pytest.raises(RefundRefused) as refusal:
        refund(payment, 21)
    assert refusal.value.extra == {"refundable": "20.00"}
    refund(payment, 20)
    with pytest.raises(RefundRefused):
        refund(payment, 1)
    with pytest.raises(IntegrityError), transaction.atomic():
        Payment.objects.filter(pk=payment.pk).update(refunded_micros=51 * UNIT)
    assert refundable_micros(other) == 100 * UNIT


def test_the_same_refund_again_is_one(market: Market, alice: User) -> None:
    payment, key = market.paid(alice, 50), uuid4()
    assert refund(payment, 20, refund_id=key).pk == refund(payment, 20, refund_id=key).pk
    assert balance(alice) == 30 * UNIT


def test_nonsense_is_refused(market: Market, alice: User) -> None:
    payment = market.paid(alice, 50)
    for amount in (0, -1):
        with pytest.raises(InvalidInput):
            refund(payment, amount)
    with pytest.raises(InvalidInput):
        refund_payment(payment_id=payment.pk, amount_micros=1, reason="", actor="x", refund_id=uuid4())
    with pytest.raises(NotFound):
        refund_payment(payment_id=uuid4(), amount_micros=UNIT, reason="", actor="x", refund_id=uuid4())
    with pytest.raises(RefundRefused):
        refund(market.top_up(alice, 50), 10)


def test_fault_076_an_answer_that_was_lost_makes_no_second_refund(market: Market, alice: User) -> None:
    """Fault 76, within the day in which Stripe knows the key and after it."""
    payment = market.paid(alice, 100)
    part = refund(payment, 30)
    market.stripe.lost_replies = 2
    with pytest.raises(StripeUnreachable):
        send_refund(refund_id=part.pk)
    assert (len(market.stripe.objects["refunds"]), Refund.objects.get().stripe_id) == (1, None)
    market.stripe.answered.clear()  # Stripe has forgotten the key
    with time_machine.travel(clock.now() + timedelta(days=2)):
        assert send_refunds(now=clock.now()) == 1
        assert send_refunds(now=clock.now()) == 0
    assert (len(market.stripe.objects["refunds"]), Refund.objects.get().state) == (1, "succeeded")
    assert (balance(alice), market.stripe.balance()) == (70 * UNIT, 70 * 100)


def test_while_stripe_is_down_refunds_wait(market: Market, alice: User) -> None:
    refund(market.paid(alice, 100), 30)
    market.stripe.is_down = True
    with time_machine.travel(clock.now() + timedelta(minutes=1)):
        assert send_refunds(now=clock.now()) == 0
        market.stripe.is_down = False
        assert send_refunds(now=clock.now()) == 1


def test_what_the_card_does_not_take_comes_back(market: Market, alice: User) -> None:
    """A refund that fails days later, also after it was said to have succeeded."""
    payment = market.paid(alice, 100)
    part = refund(payment, 30)
    send_refund(refund_id=part.pk)
    part.refresh_from_db()
    market.stripe.fail_refund(str(part.stripe_id))
    market.deliver_all()
    part.refresh_from_db()
    payment.refresh_from_db()
    assert (part.state, balance(alice), payment.refunded_micros) == ("failed", 100 * UNIT, 0)
    assert (outside(), market.stripe.balance()) == (100 * UNIT, 100 * 100)
    market.deliver_all()
    assert balance(alice) == 100 * UNIT
    refund(payment, 100)
    assert balance(alice) == 0


def test_what_stripe_refuses_comes_back_at_once(market: Market, alice: User) -> None:
    payment = market.paid(alice, 100)
    market.stripe.refund_by_hand(str(payment.intent_id), 9000)  # nobody has told us yet
    part = refund(payment, 30)
    assert not send_refund(refund_id=part.pk)
    part.refresh_from_db()
    assert (part.state, balance(alice)) == ("failed", 100 * UNIT)
    market.deliver_all()
    assert balance(alice) == 10 * UNIT


def test_a_slow_refund_is_pending_until_stripe_says_so(market: Market, alice: User) -> None:
    payment = market.paid(alice, 100)
    made = market.stripe.refund_by_hand(str(payment.intent_id), 1000)
    market.stripe.set_refund(made["id"], "pending")
    market.deliver_all()
    assert Refund.objects.get().state == "pending"
    market.stripe.set_refund(made["id"], "succeeded")
    check_payment(payment_id=payment.pk)
    assert Refund.objects.get().state == "succeeded"


def test_a_refund_at_stripes_site_of_spent_money_is_owed(market: Market, alice: User, hana: User) -> None:
    """Fault 78: the host has been paid; history stays, the renter owes, the next top-up repays."""
    payment = market.paid(alice, 100)
    source = Source(alice, hana, rate=60 * UNIT).start()
    source.run(START, at(hours=1))
    source.close()
    assert (balance(alice), balance(hana, "host")) == (40 * UNIT, 54 * UNIT)
    lines = set(Entry.objects.values_list("pk", "amount_micros"))
    market.stripe.refund_by_hand(str(payment.intent_id), 10_000)
    market.deliver_all()
    assert (balance(alice), balance(alice, "debt"), balance(hana, "host")) == (0, -60 * UNIT, 54 * UNIT)
    assert lines <= set(Entry.objects.values_list("pk", "amount_micros"))
    market.paid(alice, 50)
    assert (balance(alice), balance(alice, "debt")) == (0, -10 * UNIT)
    market.paid(alice, 50)
    assert (balance(alice), balance(alice, "debt")) == (40 * UNIT, 0)


def test_fault_078_a_refund_or_a_dispute_after_the_payout_takes_nothing_from_the_host(
    market: Market, alice: User, hana: User
) -> None:
    """Fault 78: 60 used, 54 paid out to the bank; then 60 go back at Stripe's site and the bank takes the other 40 back.

    40 were unspent and go with the refund, 20 of it and the 40 disputed are owed. The host owes nobody anything.
    """
    payment = market.paid(alice, 100)
    source = Source(alice, hana, rate=60 * UNIT).start()
    source.run(START, at(hours=1))
    source.close()
    account(hana)
    with time_machine.travel(clock.now() + timedelta(days=31)):
        payout = request_payout(owner_id=hana.pk, requested_by="test")
        assert (payout.amount_micros, balance(hana, "host")) == (54 * UNIT, 0)
        lines = set(Entry.objects.values_list("pk", "amount_micros"))
        market.stripe.refund_by_hand(str(payment.intent_id), 6_000)
        market.deliver_all()
        assert (balance(alice), balance(alice, "debt")) == (0, -20 * UNIT)
        market.stripe.dispute(str(payment.intent_id), 4_000)
        market.deliver_all()
    assert (balance(alice), balance(alice, "debt"), balance(hana, "host")) == (0, -60 * UNIT, 0)
    assert (Payout.objects.get().state, outside(), market.stripe.balance()) == ("pending", 0, 0)
    assert lines <= set(Entry.objects.values_list("pk", "amount_micros"))


def test_grants_are_never_refunded(market: Market, alice: User, hana: User) -> None:
    """What is not cash is spent first: 100 cash + 30 granted − 50 spent leaves 80 cash, not 100."""
    payment = market.paid(alice, 100)
    grant(alice, 30 * UNIT)
    assert unspent_cash_micros(alice.pk) == 100 * UNIT
    source = Source(alice, hana, rate=50 * UNIT).start()
    assert unspent_cash_micros(alice.pk) == 80 * UNIT  # 50 are set aside
    source.run(START, at(hours=1))
    source.close()
    assert (balance(alice), refundable_micros(payment)) == (80 * UNIT, 80 * UNIT)
    grant(alice, 500 * UNIT)
    assert refundable_micros(payment) == 80 * UNIT
    with pytest.raises(RefundRefused):
        refund(payment, 81)
    refund(payment, 80)
    assert (balance(alice), refundable_micros(payment)) == (500 * UNIT, 0)


def test_renters_take_back_their_own_within_two_weeks(market: Market, alice: User) -> None:
    payment = market.paid(alice, 100)
    refund_own(payment=payment, amount_micros=40 * UNIT, refund_id=uuid4())
    assert balance(alice) == 60 * UNIT
    with time_machine.travel(clock.now() + timedelta(days=15)), pytest.raises(RefundRefused, match="14 days"):
        refund_own(payment=payment, amount_micros=UNIT, refund_id=uuid4())


def test_one_that_came_and_went_before_anybody_told_stands_in_the_books(market: Market, alice: User) -> None:
    """Stripe's balance moved twice, so does the ledger's; the wallet ends where it was."""
    payment = market.paid(alice, 100)
    made = market.stripe.refund_by_hand(str(payment.intent_id), 4000)
    market.stripe.fail_refund(made["id"])
    market.deliver_all()
    report = run_reconciliation(reconciliation_id=request_reconciliation(actor="test").pk)
    assert (report.findings, balance(alice)) == ([], 100 * UNIT)
    assert (Refund.objects.get().state, Posting.objects.filter(kind="refund").count()) == ("failed", 2)
