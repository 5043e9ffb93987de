"""Against localstripe, a Stripe that others wrote, as a server of its own: cards, charges, refunds, its signed messages."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from accounts.models import User
from billing.audit.selectors import ledger_findings
from billing.ledger.wallets import open_wallet
from billing.models import Payment, PaymentProfile, Refund, StripeEvent
from billing.payments.auto_top_up import CONFIRMATION_NEEDED, top_up_low_wallets
from billing.payments.cards import AutoRule, customer_of, save_auto_rule
from billing.payments.refunds import refund_payment, send_refund
from billing.payments.stripe_events import apply_events
from common import clock
from tests.billing.money import UNIT
from tests.billing.payments.conftest import SECRET, balance

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.django_db(transaction=True)
KEY = {"Authorization": "Bearer sk_test_berth"}


@pytest.fixture(scope="module")
def local_stripe() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tests.billing.payments.local_stripe", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{port}"
    try:
        _until(lambda: _answers(base))
        yield base
    finally:
        process.terminate()
        process.wait(timeout=10)


@pytest.fixture
def base(local_stripe: str, settings: Any, live_server: Any) -> Iterator[str]:
    """Card payments are on, and localstripe delivers to this market's own webhook."""
    settings.STRIPE_SECRET_KEY = "sk_test_berth"
    settings.STRIPE_WEBHOOK_SECRETS = [SECRET]
    settings.STRIPE_API_BASE = local_stripe
    _deliver_to(local_stripe, f"{live_server.url}/stripe/webhook")
    yield local_stripe
    _deliver_to(local_stripe, "http://127.0.0.1:1")  # what is still on its way must not reach the next test


def _deliver_to(base: str, address: str) -> None:
    httpx.post(f"{base}/_config/webhooks/here", json={"url": address, "secret": SECRET}).raise_for_status()


def _answers(base: str) -> bool:
    try:
        return httpx.get(f"{base}/v1/events", headers=KEY).status_code == 200
    except httpx.TransportError:
        return False


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _with_card(base: str, owner: User, number: str) -> None:
    """What Checkout's page does in the renter's browser: the card is made at Stripe and joined to the customer."""
    open_wallet(owner_id=owner.pk)
    customer = customer_of(owner=owner)
    card = {"type": "card", "card": {"number": number, "exp_month": 12, "exp_year": 2030, "cvc": "123"}}
    made = httpx.post(f"{base}/v1/payment_methods", json=card, headers=KEY).raise_for_status().json()
    joined = httpx.post(f"{base}/v1/payment_methods/{made['id']}/attach", json={"customer": customer}, headers=KEY)
    joined.raise_for_status()
    PaymentProfile.objects.filter(pk=owner.pk).update(card_id=made["id"], card_brand="visa", card_last4=number[-4:])
    save_auto_rule(owner_id=owner.pk, rule=AutoRule(True, 20 * UNIT, 50 * UNIT, 100 * UNIT))


def test_a_saved_card_fills_the_wallet_and_the_signed_message_comes(base: str, alice: User) -> None:
    _with_card(base, alice, "4242424242424242")
    assert top_up_low_wallets(now=clock.now()) == 1
    assert balance(alice) == 50 * UNIT
    events = StripeEvent.objects.filter(kind="payment_intent.succeeded")
    _until(events.exists)  # signed by localstripe, delivered over HTTP, verified here
    apply_events(now=clock.now())
    assert (events.get().outcome, balance(alice)) == ("known", 50 * UNIT)
    assert ledger_findings() == []


def test_part_of_it_goes_back(base: str, alice: User) -> None:
    _with_card(base, alice, "4242424242424242")
    top_up_low_wallets(now=clock.now())
    payment = Payment.objects.get()
    refund = refund_payment(payment_id=payment.pk, amount_micros=20 * UNIT, reason="asked", actor="test", refund_id=uuid4())
    assert send_refund(refund_id=refund.pk)
    refund.refresh_from_db()
    assert (refund.state, balance(alice)) == ("succeeded", 30 * UNIT)
    charge = httpx.get(f"{base}/v1/charges/{payment.charge_id}", headers=KEY).json()
    assert (charge["amount"], charge["amount_refunded"]) == (5000, 2000)
    assert send_refund(refund_id=refund.pk) is False
    assert Refund.objects.count() == 1


@pytest.mark.parametrize(
    ("number", "failure"), [("4000000000000341", "declined"), ("4000002500003155", CONFIRMATION_NEEDED)]
)
def test_a_card_that_is_refused_or_must_be_confirmed(base: str, alice: User, number: str, failure: str) -> None:
    _with_card(base, alice, number)
    assert top_up_low_wallets(now=clock.now()) == 0
    payment = Payment.objects.get()
    assert (payment.state, balance(alice)) == ("failed", 0)
    assert failure in payment.failure
