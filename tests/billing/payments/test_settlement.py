"""A market in one currency on a Stripe account that settles in another: every amount is compared in the charge's own."""

from typing import Any

import pytest
import stripe

from accounts.models import User
from billing.errors import StripeRefused, StripeUnreachable
from billing.models import PaymentProfile, Refund
from billing.payments.auto_top_up import top_up_low_wallets
from billing.payments.cards import AutoRule, save_auto_rule, start_card_setup
from billing.payments.reconcile_stripe import request_reconciliation, run_reconciliation
from billing.payments.refunds import refund_payment, send_refund
from billing.stripe import client, transfers
from common import clock
from common.ids import new_uuid
from tests.billing.money import UNIT
from tests.billing.payments.conftest import Market, balance

pytestmark = pytest.mark.django_db


def reconcile() -> list[str]:
    return list(run_reconciliation(reconciliation_id=request_reconciliation(actor="test").pk).findings)


@pytest.mark.parametrize(
    "case",
    [
        "CNY usd 0.138217 100",
        "JPY usd 0.0066521 5000",
        "JPY eur 0.0061 500",
        "USD jpy 150.33 25",
        "KWD usd 3.2571 25",
        "USD",
    ],
)
def test_no_finding_where_stripe_settles_in_another_currency(market: Market, alice: User, settings: Any, case: str) -> None:
    currency, *settled = case.split()
    units = int(settled[2]) if settled else 25
    settings.MARKET_CURRENCY = currency
    market.stripe.settles_in = (settled[0], settled[1]) if settled else None
    paid, other = market.paid(alice, units), market.paid(alice, 2 * units)
    refund_payment(payment_id=paid.pk, amount_micros=UNIT * units // 5, reason="asked", actor="staff", refund_id=new_uuid())
    send_refund(refund_id=Refund.objects.get().pk)
    made = market.stripe.dispute(str(other.intent_id))
    market.deliver_all()
    market.stripe.close_dispute(made["id"], "won")
    market.deliver_all()
    assert balance(alice) == 3 * units * UNIT - units * UNIT // 5
    assert reconcile() == []


def test_what_was_settled_wrongly_or_charged_otherwise_is_still_found(market: Market, alice: User, settings: Any) -> None:
    settings.MARKET_CURRENCY = "CNY"
    market.stripe.settles_in = ("usd", "0.138217")
    payment = market.paid(alice, 100)
    line = next(iter(market.stripe.objects["balance_transactions"].values()))
    line["amount"] += 5
    (finding,) = reconcile()
    assert "exchange rate" in finding
    line["amount"] -= 5
    market.stripe.objects["charges"][str(payment.charge_id)]["amount"] = 9_000
    assert any("the ledger has 100.00" in finding for finding in reconcile())


# -- a customer that was deleted at Stripe


def test_a_top_up_heals_a_customer_that_was_deleted(market: Market, alice: User) -> None:
    market.paid(alice, 25)
    gone = PaymentProfile.objects.get().customer_id
    market.stripe.delete_customer(str(gone))
    assert market.paid(alice, 25).state == "succeeded"
    assert PaymentProfile.objects.get().customer_id not in (gone, None)
    assert balance(alice) == 50 * UNIT


def test_saving_a_card_heals_it_too(market: Market, alice: User) -> None:
    start_card_setup(owner=alice, key="a")
    gone = PaymentProfile.objects.get().customer_id
    market.stripe.delete_customer(str(gone))
    assert start_card_setup(owner=alice, key="b").startswith("https://")
    assert PaymentProfile.objects.get().customer_id != gone


def test_the_saved_card_of_a_deleted_customer_is_forgotten_and_its_owner_told(market: Market, alice: User) -> None:
    payment = market.top_up(alice, 25, save_card=True)
    market.stripe.pay(str(payment.session_id), save=True)
    market.deliver_all()
    rule = AutoRule(enabled=True, threshold_micros=100 * UNIT, amount_micros=25 * UNIT, monthly_cap_micros=500 * UNIT)
    save_auto_rule(owner_id=alice.pk, rule=rule)
    market.stripe.delete_customer(str(PaymentProfile.objects.get().customer_id))
    top_up_low_wallets(now=clock.now())
    profile = PaymentProfile.objects.get()
    assert (profile.customer_id, profile.card_id, profile.auto_enabled) == (None, "", False)
    assert "No such customer" in profile.auto_failure
    assert market.paid(alice, 25).state == "succeeded"


def test_another_missing_object_is_no_missing_customer(market: Market, alice: User) -> None:
    with pytest.raises(StripeRefused) as refused, client.stripe_calls() as api:
        api.v1.payment_intents.retrieve("pi_nothing")
    assert not client.is_missing_customer(refused.value)


# -- nobody knows, in both places alike


@pytest.mark.parametrize(
    ("error", "known"),
    [
        (stripe.IdempotencyError, StripeUnreachable),
        (stripe.APIConnectionError, StripeUnreachable),
        (stripe.APIError, StripeUnreachable),
        (stripe.RateLimitError, StripeUnreachable),
        (stripe.PermissionError, StripeRefused),
    ],
)
def test_errors_of_stripe_are_classed_alike(market: Market, error: Any, known: type[Exception]) -> None:
    """Transfers, refunds and all else go through one door, which says what is known after an error."""
    with pytest.raises(known), client.stripe_calls():
        raise error("as Stripe says it")
    assert not hasattr(transfers, "_calls")


def test_a_key_used_with_other_words_gives_no_money_back(market: Market, alice: User, monkeypatch: Any) -> None:
    payment = market.paid(alice, 100)

    def used(**_values: object) -> None:
        with client.stripe_calls():
            raise stripe.IdempotencyError("used with another body")

    refund_payment(payment_id=payment.pk, amount_micros=UNIT, reason="x", actor="staff", refund_id=new_uuid())
    with monkeypatch.context() as broken:
        broken.setattr(client, "send_refund", used)
        with pytest.raises(StripeUnreachable):
            send_refund(refund_id=Refund.objects.get().pk)
    assert (Refund.objects.get().state, balance(alice)) == ("pending", 99 * UNIT)
    assert send_refund(refund_id=Refund.objects.get().pk)
    assert (Refund.objects.get().state, balance(alice)) == ("succeeded", 99 * UNIT)
