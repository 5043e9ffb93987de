"""HTTP client of Stripe, with Stripe's own library.

It is the only place that talks to Stripe. Every call that creates something has an idempotency key.
"""

import hashlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import stripe
from django.conf import settings

from billing.errors import CardRefused, PaymentsOff, StripeRefused, StripeUnreachable
from billing.stripe import objects
from billing.stripe.currencies import to_minor
from billing.stripe.objects import (
    ORIGIN_MARK,
    OWNER_MARK,
    PAYMENT_MARK,
    REFUND_MARK,
    BalanceLine,
    CheckoutSession,
    EventHead,
    Intent,
    RemoteDispute,
    RemoteRefund,
)

if TYPE_CHECKING:
    from stripe.params import PaymentIntentCreateParams
    from stripe.params.checkout import SessionCreateParams

logger = logging.getLogger(__name__)

TIMEOUT_S: Final = 10
_RETRIES: Final = 1
_PAGE: Final = 100
_WITH_SOURCE: Final = ["data.source"]
_WITH_CHARGE: Final = ["latest_charge", "payment_method"]


@dataclass(frozen=True)
class Buyer:
    """Paying user: our own id and Stripe's customer id."""

    owner_id: UUID
    customer_id: str


@dataclass(frozen=True)
class ReturnUrls:
    """Addresses to which Stripe's page sends the renter: when done, and when left."""

    done: str
    left: str


def is_configured() -> bool:
    return bool(settings.STRIPE_SECRET_KEY)


def client() -> stripe.StripeClient:
    """Return the client.

    Raises:
        PaymentsOff: the operator has configured no key.
    """
    if not is_configured():
        raise PaymentsOff("Card payments aren't set up here.")
    return _client(settings.STRIPE_SECRET_KEY, settings.STRIPE_API_BASE)


@cache
def _client(key: str, base: str) -> stripe.StripeClient:
    return stripe.StripeClient(
        key,
        base_addresses={"api": base},
        http_client=stripe.RequestsClient(timeout=TIMEOUT_S),
        max_network_retries=_RETRIES,
    )


@contextmanager
def stripe_calls() -> Iterator[stripe.StripeClient]:
    """Provide the client for all requests to Stripe, and translate its errors into domain errors.

    Only what Stripe has processed and turned down counts as refused. After a conflict of an idempotency key, a
    charge, refund or transfer may exist: the result is unknown, and Stripe's lists are queried.
    """
    try:
        yield client()
    except stripe.CardError as error:
        raise CardRefused(error.user_message or str(error), reason=error.code or "", intent_id=_intent_in(error)) from error
    except (stripe.InvalidRequestError, stripe.PermissionError) as error:
        param = getattr(error, "param", None) or ""
        raise StripeRefused(error.user_message or str(error), reason=_reason_of(error), param=param) from error
    except stripe.StripeError as error:
        logger.warning("Stripe cannot be used now: %s", error)
        raise StripeUnreachable from error


def create_customer(*, owner_id: UUID, email: str, instead_of: str = "") -> str:
    """Create a customer and return its id; simultaneous calls create only one.

    `instead_of` is a customer that Stripe no longer knows.
    """
    about = hashlib.sha256(f"{email}:{instead_of}".encode()).hexdigest()[:16]
    with stripe_calls() as api:
        made = api.v1.customers.create(
            {"email": email, "metadata": {OWNER_MARK: owner_id.hex}},
            {"idempotency_key": f"customer:{owner_id.hex}:{about}"},
        )
    return made.id


def is_missing_customer(error: StripeRefused) -> bool:
    """Return whether Stripe refused because it does not know the customer.

    It was deleted there, or belongs to another account.
    """
    return error.extra.get("reason") == "resource_missing" and error.extra.get("param") == "customer"


def open_checkout(
    *, payment_id: UUID, buyer: Buyer, amount_micros: int, label: str, returns: ReturnUrls, save_card: bool
) -> CheckoutSession:
    """Return a page on which this payment can be paid; the same payment gets the same page again."""
    currency = settings.MARKET_CURRENCY.lower()
    marks = _metadata(payment_id, buyer.owner_id, "checkout")
    about: SessionCreateParams = {
        "mode": "payment",
        "customer": buyer.customer_id,
        "client_reference_id": payment_id.hex,
        "line_items": [
            {
                "quantity": 1,
                "price_data": {
                    "currency": currency,
                    "unit_amount": to_minor(amount_micros, currency),
                    "product_data": {"name": label},
                },
            }
        ],
        "metadata": marks,
        "payment_intent_data": {"metadata": marks, **({"setup_future_usage": "off_session"} if save_card else {})},
        "adaptive_pricing": {"enabled": False},  # the wallet gets exactly what is paid, in the market's currency
        "success_url": returns.done,
        "cancel_url": returns.left,
    }
    with stripe_calls() as api:
        made = api.v1.checkout.sessions.create(about, {"idempotency_key": f"checkout:{payment_id.hex}:{buyer.customer_id}"})
    return objects.session_of(_plain(made))


def open_card_setup(*, buyer: Buyer, returns: ReturnUrls, key: str) -> CheckoutSession:
    """Return a page on which a card is saved and nothing is paid."""
    with stripe_calls() as api:
        made = api.v1.checkout.sessions.create(
            {
                "mode": "setup",
                "customer": buyer.customer_id,
                "currency": settings.MARKET_CURRENCY.lower(),
                "allowed_payment_method_types": ["card"],
                "metadata": {OWNER_MARK: buyer.owner_id.hex},
                "success_url": returns.done,
                "cancel_url": returns.left,
            },
            {"idempotency_key": f"card:{buyer.owner_id.hex}:{buyer.customer_id}:{key}"},
        )
    return objects.session_of(_plain(made))


def charge_card(*, payment_id: UUID, buyer: Buyer, amount_micros: int, card_id: str) -> Intent:
    """Charge the saved card without its holder; repeating it for the payment charges nothing more.

    Raises:
        CardRefused: the bank refused, or wants a confirmation.
    """
    currency = settings.MARKET_CURRENCY.lower()
    about: PaymentIntentCreateParams = {
        "amount": to_minor(amount_micros, currency),
        "currency": currency,
        "customer": buyer.customer_id,
        "payment_method": card_id,
        "allowed_payment_method_types": ["card"],
        "metadata": _metadata(payment_id, buyer.owner_id, "auto"),
        "confirm": True,
        "off_session": True,
    }
    with stripe_calls() as api:
        made = api.v1.payment_intents.create(about, {"idempotency_key": f"auto:{payment_id.hex}"})
    return objects.intent_of(_plain(made))


def send_refund(*, refund_id: UUID, intent_id: str, amount_micros: int) -> RemoteRefund:
    """Refund part of a payment; repeating the same refund gives nothing more."""
    with stripe_calls() as api:
        made = api.v1.refunds.create(
            {
                "payment_intent": intent_id,
                "amount": to_minor(amount_micros, settings.MARKET_CURRENCY),
                "metadata": {REFUND_MARK: refund_id.hex},
            },
            {"idempotency_key": f"refund:{refund_id.hex}"},
        )
    return objects.refund_of(_plain(made))


def cancel_intent(intent_id: str) -> None:
    with stripe_calls() as api:
        api.v1.payment_intents.cancel(intent_id)


def detach_card(card_id: str) -> None:
    with stripe_calls() as api:
        api.v1.payment_methods.detach(card_id)


def fetch_intent(intent_id: str) -> Intent:
    with stripe_calls() as api:
        return objects.intent_of(_plain(api.v1.payment_intents.retrieve(intent_id, {"expand": _WITH_CHARGE})))


def fetch_session(session_id: str) -> CheckoutSession:
    with stripe_calls() as api:
        expand = ["setup_intent.payment_method"]
        return objects.session_of(_plain(api.v1.checkout.sessions.retrieve(session_id, {"expand": expand})))


def refunds_of(intent_id: str) -> list[RemoteRefund]:
    with stripe_calls() as api:
        found = api.v1.refunds.list({"payment_intent": intent_id, "limit": _PAGE})
        return [objects.refund_of(_plain(row)) for row in found.auto_paging_iter()]


def disputes_of(intent_id: str) -> list[RemoteDispute]:
    with stripe_calls() as api:
        found = api.v1.disputes.list({"payment_intent": intent_id, "limit": _PAGE})
        return [objects.dispute_of(_plain(row)) for row in found.auto_paging_iter()]


def events_since(since: datetime) -> Iterator[EventHead]:
    with stripe_calls() as api:
        for row in api.v1.events.list({"created": _from(since), "limit": _PAGE}).auto_paging_iter():
            yield objects.event_of(_plain(row))


def intents_since(since: datetime) -> Iterator[Intent]:
    with stripe_calls() as api:
        for row in api.v1.payment_intents.list({"created": _from(since), "limit": _PAGE}).auto_paging_iter():
            yield objects.intent_of(_plain(row))


def refunds_since(since: datetime) -> Iterator[RemoteRefund]:
    with stripe_calls() as api:
        for row in api.v1.refunds.list({"created": _from(since), "limit": _PAGE}).auto_paging_iter():
            yield objects.refund_of(_plain(row))


def disputes_since(since: datetime) -> Iterator[RemoteDispute]:
    with stripe_calls() as api:
        for row in api.v1.disputes.list({"created": _from(since), "limit": _PAGE}).auto_paging_iter():
            yield objects.dispute_of(_plain(row))


def balance_since(since: datetime) -> Iterator[BalanceLine]:
    with stripe_calls() as api:
        query: Any = {"created": _from(since), "limit": _PAGE, "expand": _WITH_SOURCE}
        for row in api.v1.balance_transactions.list(query).auto_paging_iter():
            yield objects.balance_line_of(_plain(row))


def balance_of(source_id: str) -> list[BalanceLine]:
    """Return the balance movements that one charge, refund or dispute caused."""
    with stripe_calls() as api:
        found = api.v1.balance_transactions.list({"source": source_id, "limit": _PAGE, "expand": _WITH_SOURCE})
        return [objects.balance_line_of(_plain(row)) for row in found.auto_paging_iter()]


def _metadata(payment_id: UUID, owner_id: UUID, origin: str) -> dict[str, str]:
    return {PAYMENT_MARK: payment_id.hex, OWNER_MARK: owner_id.hex, ORIGIN_MARK: origin}


def _from(since: datetime) -> Any:
    return {"gte": int(since.timestamp())}


def _plain(found: stripe.StripeObject) -> dict[str, Any]:
    plain: dict[str, Any] = found.to_dict()
    return plain


def _reason_of(error: stripe.StripeError) -> str:
    """Return Stripe's error code, which the library leaves out of a missing permission."""
    return error.code or (error.error.code if error.error is not None else None) or ""


def _intent_in(error: stripe.CardError) -> str:
    """Return the payment intent that a refused charge leaves behind."""
    about = error.error.payment_intent if error.error is not None else None
    return about.id if about is not None else ""
