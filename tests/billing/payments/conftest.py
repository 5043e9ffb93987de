"""A market with card payments on, connected to the stand-in for Stripe over HTTP."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import RequestFactory

from accounts.models import User
from billing.audit.selectors import ledger_findings
from billing.models import Payment, Wallet
from billing.payments.payments import start_top_up
from billing.payments.stripe_events import apply_event, apply_events
from billing.web.payments.views import stripe_webhook
from common import clock
from tests.billing.money import UNIT
from tests.billing.payments.stand_in import StandIn, serve

SECRET = "whsec_first"
SECOND = "whsec_second"


@dataclass
class Market:
    """The market's side of a test: what a renter, Stripe's deliveries and the workers would do."""

    stripe: StandIn

    def top_up(self, owner: User, units: int = 25, **more: Any) -> Payment:
        return start_top_up(owner=owner, amount_micros=units * UNIT, **more)

    def paid(self, owner: User, units: int = 25, **more: Any) -> Payment:
        """A top-up that the renter has paid, credited by its messages."""
        payment = self.top_up(owner, units, **more)
        self.stripe.pay(str(payment.session_id))
        self.deliver_all()
        payment.refresh_from_db()
        return payment

    def post(self, body: bytes, signature: str) -> int:
        """One delivery through the webhook's view; the status of its answer."""
        request = RequestFactory().post(
            "/stripe/webhook", body, content_type="application/json", headers={"Stripe-Signature": signature}
        )
        return stripe_webhook(request).status_code

    def deliver(self, event: dict[str, Any], *, secret: str = SECRET) -> None:
        """One delivery and the worker's hint after it."""
        assert self.post(*self.stripe.message(event, secret)) == 200
        apply_event(event_id=event["id"])

    def deliver_all(self) -> None:
        for event in self.stripe.events:
            assert self.post(*self.stripe.message(event, SECRET)) == 200
        apply_events(now=clock.now())


@pytest.fixture
def stand_in() -> Iterator[tuple[StandIn, str]]:
    stand_in = StandIn()
    server, base = serve(stand_in)
    yield stand_in, base
    server.shutdown()
    server.server_close()


@pytest.fixture
def market(stand_in: tuple[StandIn, str], settings: Any, request: pytest.FixtureRequest) -> Iterator[Market]:
    """The ledger is sound at the end of each test."""
    request.getfixturevalue("transactional_db" if _commits(request) else "db")
    settings.STRIPE_SECRET_KEY = "sk_test_berth"
    settings.STRIPE_WEBHOOK_SECRETS = [SECRET, SECOND]
    settings.STRIPE_API_BASE = stand_in[1]
    yield Market(stand_in[0])
    assert [str(finding) for finding in ledger_findings()] == []


def _commits(request: pytest.FixtureRequest) -> bool:
    marks = [mark for mark in request.node.iter_markers("django_db") if mark.kwargs.get("transaction")]
    return bool(marks)


def balance(owner: User, kind: str = "renter") -> int:
    """In whole units and their fractions; nothing when there is no such wallet."""
    return sum(Wallet.objects.filter(owner=owner, kind=kind).values_list("balance_micros", flat=True))


def outside() -> int:
    """What the ledger says that came over cards, less what went."""
    return -sum(Wallet.objects.filter(kind="stripe").values_list("balance_micros", flat=True))
