"""The door for Stripe's messages: only signed ones, only fresh ones, each kept once; refused ones leave a count."""

import json
import time
from datetime import timedelta

import pytest
import time_machine
from django.core.cache import cache
from django.test import Client
from stripe import WebhookSignature

from accounts.models import User
from billing.models import StripeEvent
from billing.payments.stripe_events import apply_events, refusal_counts
from common import clock
from tests.billing.money import UNIT
from tests.billing.payments.conftest import SECOND, SECRET, Market, balance

pytestmark = pytest.mark.django_db


@pytest.fixture
def delivered(market: Market, alice: User) -> dict[str, object]:
    """The message that a payment has succeeded."""
    cache.clear()
    market.stripe.pay(str(market.top_up(alice, 25).session_id))
    return next(event for event in market.stripe.events if event["type"] == "payment_intent.succeeded")


def test_fault_073_forged_ones_are_refused_and_only_counted(market: Market, delivered: dict[str, object]) -> None:
    body, signature = market.stripe.message(delivered, SECRET)
    wrong = market.stripe.message(delivered, "whsec_guessed")[1]
    signed_at, _, mark = signature.partition(",")
    changed = body.replace(b"2500", b"9500")
    attempts = [
        (body, wrong), (changed, signature), (body, ""), (body, mark), (body, signed_at),
        (body, f"{signed_at},v0={mark[3:]}"),
        (body, "t=x,v1=y"), (body, f"t={'9' * 5000},{mark}"), (body, f"t=1,{signature}"), (body, f"{signed_at},v1=é"),
        (b"", signature), (body, signature.replace("t=", "t=1")),
    ]  # fmt: skip
    for attempt in attempts:
        assert market.post(*attempt) == 400, attempt
    assert StripeEvent.objects.count() == 0
    assert refusal_counts() == {"forged": len(attempts), "stale": 0, "malformed": 0}


@pytest.mark.parametrize(("age_s", "status"), [(0, 200), (299, 200), (301, 400), (86_400, 400), (-299, 200), (-301, 400)])
def test_fault_073_a_signature_is_good_for_five_minutes(
    market: Market, delivered: dict[str, object], age_s: int, status: int
) -> None:
    with time_machine.travel(clock.now(), tick=False):
        assert market.post(*market.stripe.message(delivered, SECRET, int(time.time()) - age_s)) == status
    assert StripeEvent.objects.count() == (1 if status == 200 else 0)
    assert refusal_counts()["stale"] == (0 if status == 200 else 1)


def test_fault_071_a_replayed_delivery_is_kept_once_and_changes_nothing(
    market: Market, delivered: dict[str, object], alice: User
) -> None:
    message = market.stripe.message(delivered, SECRET)
    for _ in range(5):
        assert market.post(*message) == 200
        apply_events(now=clock.now())
    assert StripeEvent.objects.get(pk=delivered["id"]).deliveries == 5
    assert balance(alice) == 25 * UNIT
    with time_machine.travel(clock.now() + timedelta(minutes=6)):
        assert market.post(*message) == 400
    assert StripeEvent.objects.get(pk=delivered["id"]).deliveries == 5


def test_fault_073_two_secrets_hold_while_one_is_replaced(
    market: Market, delivered: dict[str, object], settings: object
) -> None:
    assert market.post(*market.stripe.message(delivered, SECRET)) == 200
    assert market.post(*market.stripe.message(delivered, SECOND)) == 200
    body, first = market.stripe.message(delivered, "whsec_unknown")
    both = first + "," + market.stripe.message(delivered, SECOND)[1].partition(",")[2]
    assert market.post(body, both) == 200
    settings.STRIPE_WEBHOOK_SECRETS = [SECOND]  # type: ignore[attr-defined]  # pytest-django's
    assert market.post(*market.stripe.message(delivered, SECRET)) == 400


def test_without_secrets_everything_is_forged(market: Market, delivered: dict[str, object], settings: object) -> None:
    settings.STRIPE_WEBHOOK_SECRETS = []  # type: ignore[attr-defined]  # pytest-django's
    assert market.post(*market.stripe.message(delivered, "")) == 400


MALFORMED = [
    "", "x", "[]", "null", "1", '{"id": "evt_1"}', json.dumps({"id": 5, "type": "x", "created": 1, "data": {"object": {}}}),
    json.dumps({"id": "evt_1", "type": "x", "created": 1, "data": {"object": {"id": "a" * 101, "object": "x"}}}),
    json.dumps({"id": "evt_1", "type": "x", "created": 10**30, "data": {"object": {"id": "a", "object": "x"}}}),
    json.dumps({"id": "evt\u0000", "type": "x", "created": 1, "data": {"object": {"id": "a", "object": "x"}}}),
    "[" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("body", MALFORMED, ids=range(len(MALFORMED)))
def test_signed_nonsense_is_refused(market: Market, body: str) -> None:
    cache.clear()
    assert market.post(body.encode(), WebhookSignature.generate_signature_header(body, SECRET)) == 400
    assert (StripeEvent.objects.count(), refusal_counts()["malformed"]) == (0, 1)


def test_it_stands_outside_sign_in_and_csrf(market: Market, delivered: dict[str, object]) -> None:
    browser = Client(enforce_csrf_checks=True)
    body, signature = market.stripe.message(delivered, SECRET)
    options = {"content_type": "application/json", "headers": {"Stripe-Signature": signature}}
    assert browser.post("/stripe/webhook", body, **options).json() == {"received": True, "new": True}  # type: ignore[arg-type]
    assert browser.post("/stripe/webhook", body, **options).json() == {"received": True, "new": False}  # type: ignore[arg-type]
    assert browser.post("/stripe/webhook", b"{}", content_type="application/json").status_code == 400
    assert browser.get("/stripe/webhook").status_code == 405


def test_kinds_that_nobody_asked_for_are_ticked_off(market: Market) -> None:
    market.stripe._tell("customer.created", {"id": "cus_1", "object": "customer"})
    market.deliver_all()
    assert StripeEvent.objects.get().outcome == "nothing to look at"


def test_what_was_kept_while_stripe_was_down_is_applied_later(
    market: Market, delivered: dict[str, object], alice: User
) -> None:
    market.stripe.is_down = True
    assert market.post(*market.stripe.message(delivered, SECRET)) == 200
    assert apply_events(now=clock.now()) == 0
    assert (StripeEvent.objects.get().applied_at, balance(alice)) == (None, 0)
    market.stripe.is_down = False
    assert apply_events(now=clock.now()) == 1
    assert balance(alice) == 25 * UNIT
    assert apply_events(now=clock.now()) == 0


def test_what_stripe_does_not_show_is_tried_less_and_less_often(market: Market) -> None:
    market.stripe._tell("payment_intent.succeeded", {"id": "pi_gone", "object": "payment_intent"})
    market.deliver_all()
    first = StripeEvent.objects.get()
    assert (first.tries, first.applied_at) == (1, None)
    assert apply_events(now=clock.now()) == 0
    assert StripeEvent.objects.get().tries == 1
    with time_machine.travel(clock.now() + timedelta(seconds=31)):
        apply_events(now=clock.now())
        second = StripeEvent.objects.get()
    assert second.tries == 2
    assert second.retry_at - first.retry_at > timedelta(seconds=60)
