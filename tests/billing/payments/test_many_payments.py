"""Two thousand payments whose messages come shuffled, up to five times each, and one in five never: the end is the same."""

import random
from collections import Counter
from typing import Any

import pytest

from accounts.models import User
from billing.models import Payment, PaymentProfile, Posting, Reconciliation, Wallet
from billing.payments.reconcile_stripe import request_reconciliation, run_reconciliation
from billing.payments.stripe_events import apply_events
from billing.stripe import client
from billing.stripe.client import Buyer, ReturnUrls
from billing.stripe.currencies import to_micros
from common import clock
from tests.billing.money import UNIT
from tests.billing.payments.conftest import SECRET, Market, outside
from tests.profiles import examples

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(1_800)]

PAYMENTS = examples(400, long=2_000)
RENTERS = PAYMENTS // 10
LOST = 0.2
MOST_DELIVERIES = 5
CHUNK = 3_000


def test_final_balances_equal_the_oracle(market: Market) -> None:
    dice = random.Random(4)
    renters = User.objects.bulk_create([User(email=f"renter-{number}@example.com") for number in range(RENTERS)])
    profiles = PaymentProfile.objects.bulk_create(
        [
            PaymentProfile(owner=user, customer_id=client.create_customer(owner_id=user.pk, email=user.email))
            for user in renters
        ]
    )
    _live(market, profiles, dice)
    deliveries = _deliveries(market, dice)
    for begin in range(0, len(deliveries), CHUNK):
        for event in deliveries[begin : begin + CHUNK]:
            assert market.post(*market.stripe.message(event, SECRET)) == 200
        while apply_events(now=clock.now()):
            pass
    missing = Payment.objects.filter(state="pending").count()
    assert missing > PAYMENTS * 0.02  # otherwise the loss was no loss
    report = run_reconciliation(reconciliation_id=request_reconciliation(actor="test").pk)
    assert (report.failure, report.findings) == ("", [])
    assert report.healed >= missing
    _check(market, renters)
    again = run_reconciliation(reconciliation_id=request_reconciliation(actor="test").pk)
    assert (again.failure, again.findings, again.healed) == ("", [], 0)
    assert Reconciliation.objects.count() == 2


def _live(market: Market, profiles: list[PaymentProfile], dice: random.Random) -> None:
    """What truly happens at Stripe: most pay, some leave, some are refunded there or disputed, and some of that ends."""
    payments = []
    for number in range(PAYMENTS):
        profile = profiles[number % RENTERS]
        payment = Payment(owner=profile.owner, amount_micros=dice.randrange(5, 200) * UNIT)
        payments.append(payment)
        buyer = Buyer(profile.owner_id, str(profile.customer_id))
        session = client.open_checkout(
            payment_id=payment.pk,
            buyer=buyer,
            amount_micros=payment.amount_micros,
            label="x",
            returns=ReturnUrls("https://here.example/done", "https://here.example/left"),
            save_card=False,
        )
        payment.session_id = session.id
    Payment.objects.bulk_create(payments)
    for payment in payments:
        fate = dice.random()
        if fate < 0.05:
            market.stripe.expire(str(payment.session_id))
            continue
        intent = market.stripe.pay(str(payment.session_id))
        if fate < 0.15:
            refund = market.stripe.refund_by_hand(intent["id"], dice.randrange(1, intent["amount"] + 1))
            if fate < 0.08:
                market.stripe.fail_refund(refund["id"])
        elif fate < 0.25:
            dispute = market.stripe.dispute(intent["id"])
            if fate < 0.22:
                market.stripe.close_dispute(dispute["id"], "won" if fate < 0.19 else "lost")


def _deliveries(market: Market, dice: random.Random) -> list[dict[str, Any]]:
    kept = [event for event in market.stripe.events if dice.random() >= LOST]
    copies = [event for event in kept for _ in range(dice.randrange(1, MOST_DELIVERIES + 1))]
    dice.shuffle(copies)
    return copies


def _check(market: Market, renters: list[User]) -> None:
    """The oracle reads Stripe's side alone: charges, less refunds that reached the card, less disputes not won."""
    due: Counter[str] = Counter()
    stripe = market.stripe
    for intent in stripe.objects["payment_intents"].values():
        due[intent["metadata"]["berth_owner"]] += intent["amount_received"]
    for refund in stripe.objects["refunds"].values():
        if refund["status"] != "failed":
            due[stripe.get("payment_intents", refund["payment_intent"])["metadata"]["berth_owner"]] -= refund["amount"]
    for dispute in stripe.objects["disputes"].values():
        if dispute["status"] != "won":
            due[stripe.get("payment_intents", dispute["payment_intent"])["metadata"]["berth_owner"]] -= dispute["amount"]
    found = dict(Wallet.objects.filter(kind="renter").values_list("owner_id", "balance_micros"))
    assert found == {user.pk: to_micros(due[user.pk.hex], "USD") for user in renters}
    assert set(Wallet.objects.filter(kind="debt").values_list("balance_micros", flat=True)) <= {0}
    assert outside() == to_micros(stripe.balance(), "USD")
    paid = sum(intent["status"] == "succeeded" for intent in stripe.objects["payment_intents"].values())
    assert Posting.objects.filter(kind="top_up").count() == paid
