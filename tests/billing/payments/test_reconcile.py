"""The comparison with Stripe: every lost message heals (fault 74), and what differs is named (I10, I11)."""

from datetime import timedelta
from io import StringIO

import pytest
import time_machine
from django.core.management import call_command
from django.core.management.base import CommandError

from accounts.models import User
from billing.models import Payment, Reconciliation, Refund, StripeEvent
from billing.payments.reconcile_stripe import reconcile_daily, request_reconciliation, run_reconciliation
from common import clock
from tests.billing.money import UNIT, triggers_off
from tests.billing.payments.conftest import Market, balance, outside

pytestmark = pytest.mark.django_db


def reconcile() -> Reconciliation:
    return run_reconciliation(reconciliation_id=request_reconciliation(actor="test").pk)


def test_fault_074_all_deliveries_lost(market: Market, alice: User, bob: User) -> None:
    first, second = market.top_up(alice, 100), market.top_up(bob, 50)
    market.top_up(bob, 20)
    market.stripe.refund_by_hand(market.stripe.pay(str(first.session_id))["id"], 3000)
    market.stripe.dispute(market.stripe.pay(str(second.session_id))["id"])
    report = reconcile()
    assert (report.failure, report.findings) == ("", [])
    assert report.healed >= len(market.stripe.events)
    assert (balance(alice), balance(bob), outside()) == (70 * UNIT, 0, 70 * UNIT)
    assert (Refund.objects.count(), StripeEvent.objects.filter(applied_at=None).count()) == (1, 0)
    assert reconcile().healed == 0


def test_events_that_stripe_no_longer_lists_are_found_by_their_objects(market: Market, alice: User) -> None:
    payment = market.paid(alice, 100)
    market.stripe.refund_by_hand(str(payment.intent_id), 3000)
    other = market.stripe.pay(str(market.top_up(alice, 40).session_id))
    market.stripe.dispute(other["id"], 1500)
    market.stripe.events.clear()
    report = reconcile()
    assert (report.failure, report.findings, balance(alice)) == ("", [], (100 - 30 + 40 - 15) * UNIT)


def test_what_was_decided_long_after_is_asked_for(market: Market, alice: User) -> None:
    payment = market.paid(alice, 100)
    made = market.stripe.dispute(str(payment.intent_id))
    market.deliver_all()
    market.stripe.close_dispute(made["id"], "won")
    market.stripe.events.clear()
    with time_machine.travel(clock.now() + timedelta(days=40)):
        reconcile()
    assert balance(alice) == 100 * UNIT


def test_each_begins_a_little_before_the_end_of_the_last_good_one(market: Market, alice: User) -> None:
    with time_machine.travel(clock.now(), tick=False) as moment:
        first = reconcile()
        moment.shift(timedelta(days=1))
        market.stripe.is_down = True
        failed = reconcile()
        market.stripe.is_down = False
        moment.shift(timedelta(days=1))
        third = reconcile()
    assert (failed.failure != "", first.failure, third.failure) == (True, "", "")
    assert failed.since == third.since == first.until - timedelta(hours=2)  # type: ignore[operator]  # both are set


def test_differences_are_named(market: Market, alice: User, bob: User) -> None:
    payment = market.paid(alice, 100)
    market.stripe.objects["balance_transactions"][next(iter(market.stripe.objects["balance_transactions"]))]["amount"] = 9000
    report = reconcile()
    assert report.findings == [f"Stripe has charge {payment.charge_id} of 90.00; the ledger has 100.00"]
    with triggers_off():  # as it was credited it stays
        Payment.objects.filter(pk=payment.pk).update(charge_id="ch_else")
    report = reconcile()
    assert report.findings[0] == f"Stripe has charge {payment.charge_id} of 90.00; the ledger has nothing"
    with time_machine.travel(clock.now() + timedelta(hours=1, minutes=30)):
        report = reconcile()
    assert report.findings[-1] == f"the ledger has topup:{payment.pk.hex} of 100.00; Stripe has nothing"
    with triggers_off():
        Payment.objects.filter(pk=payment.pk).update(charge_id=payment.charge_id)


def test_money_of_others_in_the_same_account_is_no_difference(market: Market, alice: User) -> None:
    market.stripe._settle(market.stripe._intent(500, "usd", {}, "cus_other"))
    market.stripe._move_money("payout", -300, {"currency": "usd", "id": "po_1"})
    market.stripe._move_money("adjustment", -5, {"currency": "usd", "id": "adj_1"})
    assert reconcile().findings == []


def test_each_day_takes_what_was_asked_for_and_else_one_of_its_own(market: Market, settings: object) -> None:
    wanted = request_reconciliation(actor="staff:x")
    reconcile_daily(now=clock.now())
    assert Reconciliation.objects.get().pk == wanted.pk
    reconcile_daily(now=clock.now())
    assert list(Reconciliation.objects.values_list("requested_by", flat=True)) == ["nightly", "staff:x"]
    reconcile_daily(now=clock.now() + timedelta(hours=23))
    assert Reconciliation.objects.count() == 2, "however often it is asked for"
    settings.STRIPE_SECRET_KEY = ""  # type: ignore[attr-defined]  # pytest-django's
    reconcile_daily(now=clock.now() + timedelta(hours=25))
    assert Reconciliation.objects.count() == 2
    settings.STRIPE_SECRET_KEY = "sk_test_berth"  # type: ignore[attr-defined]
    reconcile_daily(now=clock.now() + timedelta(hours=25))
    assert Reconciliation.objects.count() == 3


def test_the_command_says_what_it_found(market: Market, alice: User) -> None:
    market.stripe.pay(str(market.top_up(alice, 100).session_id))
    out = StringIO()
    call_command("reconcile_stripe", stdout=out)
    assert "healed 2" in out.getvalue()
    line = next(iter(market.stripe.objects["balance_transactions"].values()))
    line["amount"] = 1
    with pytest.raises(CommandError, match="1 difference"):
        call_command("reconcile_stripe", stdout=out)
    market.stripe.is_down = True
    with pytest.raises(CommandError, match="isn't responding"):
        call_command("reconcile_stripe", stdout=out)
