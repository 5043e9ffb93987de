"""Pure conversion of Stripe's objects to the fields that this market needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from billing.stripe.currencies import to_micros

PAYMENT_MARK: Final = "berth_payment"
OWNER_MARK: Final = "berth_owner"
ORIGIN_MARK: Final = "berth_origin"
REFUND_MARK: Final = "berth_refund"
"""Keys in Stripe's metadata, by which an object is recognised as ours even when our own row is lost."""

Json = Mapping[str, Any]


class Unreadable(Exception):
    """Raised for a signed message that is not one of Stripe's events."""


@dataclass(frozen=True)
class Card:
    """A saved card, with only the fields that anybody may see."""

    id: str
    brand: str
    last4: str
    fingerprint: str = ""
    """Equal for the same card number, whoever pays with it."""


@dataclass(frozen=True)
class Intent:
    """A payment at Stripe with its successful charge, if there is one."""

    id: str
    status: str
    received_micros: int
    currency: str
    payment_id: UUID | None
    owner_id: UUID | None
    origin: str
    charge_id: str
    refunded_micros: int
    disputed: bool
    customer_id: str
    card: Card | None
    keeps_card: bool
    failure: str
    created_at: datetime

    @property
    def is_paid(self) -> bool:
        return self.status == "succeeded" and self.received_micros > 0


@dataclass(frozen=True)
class CheckoutSession:
    """A page of Stripe on which a renter pays or saves a card."""

    id: str
    url: str
    status: str
    mode: str
    intent_id: str
    payment_id: UUID | None
    owner_id: UUID | None
    customer_id: str
    card: Card | None


@dataclass(frozen=True)
class RemoteRefund:
    id: str
    status: str
    amount_micros: int
    refund_id: UUID | None
    intent_id: str
    created_at: datetime

    @property
    def has_failed(self) -> bool:
        return self.status in ("failed", "canceled")


@dataclass(frozen=True)
class RemoteDispute:
    id: str
    status: str
    amount_micros: int
    reason: str
    intent_id: str
    created_at: datetime

    @property
    def takes_money(self) -> bool:
        """Return whether the dispute takes money; an inquiry (`warning_…`) does not, and most end there."""
        return not self.status.startswith("warning_") and self.status != "prevented"


@dataclass(frozen=True)
class EventHead:
    """Subject of an event: the connected account or payment intent if it has one, else the object itself."""

    id: str
    kind: str
    subject: str
    created_at: datetime


@dataclass(frozen=True)
class BalanceLine:
    """One movement of the market's money at Stripe, before Stripe's own fee.

    Stripe settles in the currency of the market's bank account, which may differ from that of its charges.
    `amount_micros` is in the charge's own `currency`, as its source (a charge, refund or dispute) says. `settles`
    is true when the settled amount equals it at Stripe's exchange rate, up to the rounding of one unit.
    """

    id: str
    kind: str
    amount_micros: int
    currency: str
    settles: bool
    source_id: str
    created_at: datetime


def intent_of(found: Json) -> Intent:
    currency, metadata, charge = str(found["currency"]), _map(found, "metadata"), _map(found, "latest_charge")
    error = _map(found, "last_payment_error")
    return Intent(
        id=str(found["id"]),
        status=str(found["status"]),
        # Absent at servers that only imitate Stripe; there, a success means that the full amount was
        # received.
        received_micros=to_micros(int(found.get("amount_received", found["amount"])), currency),
        currency=currency.upper(),
        payment_id=_uuid(metadata.get(PAYMENT_MARK)),
        owner_id=_uuid(metadata.get(OWNER_MARK)),
        origin=str(metadata.get(ORIGIN_MARK, "")),
        charge_id=_id(found.get("latest_charge")),
        refunded_micros=to_micros(int(charge.get("amount_refunded") or 0), currency),
        disputed=bool(charge.get("disputed")),
        customer_id=_id(found.get("customer")),
        card=card_of(found.get("payment_method")),
        keeps_card=found.get("setup_future_usage") == "off_session",
        failure=str(error.get("message") or ""),
        created_at=_moment(found),
    )


def session_of(found: Json) -> CheckoutSession:
    metadata, setup = _map(found, "metadata"), _map(found, "setup_intent")
    return CheckoutSession(
        id=str(found["id"]),
        url=str(found.get("url") or ""),
        status=str(found.get("status") or ""),
        mode=str(found.get("mode") or ""),
        intent_id=_id(found.get("payment_intent")),
        payment_id=_uuid(metadata.get(PAYMENT_MARK)),
        owner_id=_uuid(metadata.get(OWNER_MARK)),
        customer_id=_id(found.get("customer")),
        card=card_of(setup.get("payment_method")) if setup.get("status") == "succeeded" else None,
    )


def card_of(found: object) -> Card | None:
    if not isinstance(found, Mapping) or not isinstance(found.get("card"), Mapping):
        return None
    card = found["card"]
    texts = {name: str(card.get(name) or "") for name in ("brand", "last4", "fingerprint")}
    return Card(id=str(found["id"]), **texts)


def refund_of(found: Json) -> RemoteRefund:
    return RemoteRefund(
        id=str(found["id"]),
        status=str(found.get("status") or "pending"),
        amount_micros=to_micros(int(found["amount"]), str(found["currency"])),
        refund_id=_uuid(_map(found, "metadata").get(REFUND_MARK)),
        intent_id=_id(found.get("payment_intent")),
        created_at=_moment(found),
    )


def dispute_of(found: Json) -> RemoteDispute:
    return RemoteDispute(
        id=str(found["id"]),
        status=str(found["status"]),
        amount_micros=to_micros(int(found["amount"]), str(found["currency"])),
        reason=str(found.get("reason") or ""),
        intent_id=_id(found.get("payment_intent")),
        created_at=_moment(found),
    )


def balance_line_of(found: Json) -> BalanceLine:
    """Return a balance movement; without a charge, refund or dispute it has only its own currency."""
    settled, settled_in, source = int(found["amount"]), str(found["currency"]), _map(found, "source")
    minor, currency = settled, settled_in
    if source.get("object") in _PRICED and source.get("currency"):
        currency = str(source["currency"])
        if currency.lower() != settled_in.lower():
            taken = settled < 0 or (settled == 0 and str(found["type"]) in _TAKING)  # too little to be settled at all
            minor = -int(source["amount"]) if taken else int(source["amount"])
    return BalanceLine(
        id=str(found["id"]),
        kind=str(found["type"]),
        amount_micros=to_micros(minor, currency),
        currency=currency.upper(),
        settles=_settles(minor, currency, settled, settled_in, found.get("exchange_rate")),
        source_id=_id(found.get("source")),
        created_at=_moment(found),
    )


def _settles(minor: int, currency: str, settled: int, settled_in: str, rate: object) -> bool:
    """Return whether `settled` is `minor` × rate, in whole units.

    The units of two currencies may differ in size.
    """
    if currency.lower() == settled_in.lower():
        return True
    if not isinstance(rate, int | float | str):
        return False
    expected = Decimal(to_micros(minor, currency)) * Decimal(str(rate))
    return abs(expected - to_micros(settled, settled_in)) <= to_micros(1, settled_in)


def event_of(found: object) -> EventHead:
    """Return the subject of an event.

    Only the object's id is trusted: the object itself is fetched again.

    Raises:
        Unreadable: it is not an event of Stripe.
    """
    try:
        about = found["data"]["object"]  # type: ignore[index]  # anything may come; what does not fit raises
        subject = _subject(found, about)
        head = (found["id"], found["type"], subject)  # type: ignore[index]
        created_at = _moment(found)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError) as error:
        raise Unreadable from error
    if not all(isinstance(text, str) and 0 < len(text) <= _LONGEST and text.isprintable() for text in head):
        raise Unreadable
    return EventHead(id=head[0], kind=head[1][:_LONGEST_KIND], subject=head[2], created_at=created_at)


def _subject(found: Any, about: Any) -> str:
    """Return the id to fetch.

    For events of a connected account it is the account: its payouts, capabilities and persons decide whether it
    can be paid.
    """
    if found.get("account"):
        return str(found["account"])
    if about["object"] == "payment_intent":
        return str(about["id"])
    return str(_id(about.get("payment_intent")) or about["id"])


_TAKING: Final = frozenset({"refund", "payment_refund"})
_PRICED: Final = frozenset({"charge", "refund", "dispute"})
_LONGEST: Final = 100
_LONGEST_KIND: Final = 80


def _map(found: Json, name: str) -> Json:
    inner = found.get(name)
    return inner if isinstance(inner, Mapping) else {}


def _id(found: object) -> str:
    """Return the id of an object that may be given in full or by its id."""
    return str(found.get("id") or "") if isinstance(found, Mapping) else str(found or "")


def _uuid(text: object) -> UUID | None:
    try:
        return UUID(hex=str(text)) if text else None
    except ValueError:
        return None


def _moment(found: Json) -> datetime:
    return datetime.fromtimestamp(int(found["created"]), UTC)
