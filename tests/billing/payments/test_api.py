"""`/topups`: begun once for each key, seen by their owner alone, and off where the operator has no Stripe."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from accounts.tokens.services import issue_token
from billing.models import Payment
from tests.billing.money import UNIT
from tests.billing.payments.conftest import Market, balance

pytestmark = pytest.mark.django_db
TOP_UPS = "/api/v1/topups"


def client_of(user: User, *scopes: str) -> Client:
    text = issue_token(user=user, name="t", scopes=list(scopes) or ["billing:read", "billing:write"])[1]
    return Client(headers={"authorization": f"Bearer {text}"})


def ask(client: Client, body: Any, *, key: str = "", dry_run: bool = False) -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    address = f"{TOP_UPS}?dry_run=true" if dry_run else TOP_UPS
    return client.post(address, body, content_type="application/json", headers=headers)


def test_begun_paid_and_read(market: Market, alice: User) -> None:
    client = client_of(alice)
    reply = ask(client, {"amount": "25.50"}, key="one")
    made = reply.json()
    assert (reply.status_code, made["state"], made["amount"], made["currency"]) == (201, "pending", "25.50", "USD")
    assert made["checkout_url"].startswith("https://checkout.example/")
    again = ask(client, {"amount": "25.50"}, key="one")
    assert (again.status_code, again.json()) == (201, made)
    assert ask(client, {"amount": "26"}, key="one").json()["code"] == "idempotency_conflict"
    market.stripe.pay(str(Payment.objects.get().session_id))
    market.deliver_all()
    read = client.get(f"{TOP_UPS}/{made['id']}").json()
    assert (read["state"], read["checkout_url"], balance(alice)) == ("succeeded", "", 25 * UNIT + UNIT // 2)
    assert [row["id"] for row in client.get(TOP_UPS).json()["results"]] == [made["id"]]


def test_a_lost_answer_and_the_same_key_make_one_page(market: Market, alice: User) -> None:
    client = client_of(alice)
    ask(client, {"amount": "25"})
    market.stripe.lost_replies = 2
    failed = ask(client, {"amount": "30"}, key="k")
    assert (failed.status_code, failed.json()["code"]) == (503, "stripe_unreachable")
    assert ask(client, {"amount": "30"}, key="k").status_code == 201
    assert len(market.stripe.objects["checkout/sessions"]) == 2


def test_a_dry_run_asks_stripe_nothing(market: Market, alice: User) -> None:
    reply = ask(client_of(alice), {"amount": "25"}, dry_run=True)
    assert (reply.status_code, reply.json()["amount"], reply.headers["Dry-Run"]) == (200, "25.00", "true")
    assert (market.stripe.requests, Payment.objects.count()) == ([], 0)


@pytest.mark.parametrize("amount", ["0", "1", "5001", "25.001", "-5", "x", "1e3", "", None, 25])
def test_wrong_amounts(market: Market, alice: User, amount: object) -> None:
    reply = ask(client_of(alice), {"amount": amount})
    if amount == 25:  # a number is read as its text
        assert reply.status_code == 201
        return
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_input")
    assert market.stripe.requests == []


def test_off_without_a_key_of_stripe(alice: User) -> None:
    for dry_run in (False, True):
        reply = ask(client_of(alice), {"amount": "25"}, dry_run=dry_run)
        assert (reply.status_code, reply.json()["code"]) == (409, "payments_off")
    assert Payment.objects.count() == 0


def test_others_and_lesser_tokens(market: Market, alice: User, mallory: User) -> None:
    made = ask(client_of(alice), {"amount": "25"}).json()
    assert client_of(mallory).get(f"{TOP_UPS}/{made['id']}").status_code == 404
    assert client_of(mallory).get(TOP_UPS).json()["results"] == []
    assert ask(client_of(alice, "billing:read"), {"amount": "25"}).status_code == 403
    assert client_of(alice, "keys:read").get(TOP_UPS).status_code == 403


def test_refunds_and_disputes_are_shown(market: Market, alice: User) -> None:
    payment = market.paid(alice, 100)
    market.stripe.refund_by_hand(str(payment.intent_id), 2500)
    market.stripe.dispute(str(payment.intent_id), 1000)
    market.deliver_all()
    read = client_of(alice).get(TOP_UPS).json()["results"][0]
    assert (read["refunded"], read["refunds"][0]["amount"], read["refunds"][0]["state"]) == ("25.00", "25.00", "succeeded")
    assert (read["disputes"][0]["amount"], read["disputes"][0]["state"]) == ("10.00", "open")
