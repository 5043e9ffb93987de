"""Transfers to connected accounts of Stripe: sent once by a payout's key, found again by its group."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import stripe
from django.conf import settings

from billing.stripe.client import stripe_calls
from billing.stripe.currencies import to_micros, to_minor

PAYOUT_MARK: Final = "berth_payout"
_FEW: Final = 10
_PAGE: Final = 100


@dataclass(frozen=True)
class Transfer:
    """Money that went from the market's balance at Stripe to a host owner's."""

    id: str
    amount_micros: int
    reversed: bool


def send_transfer(*, payout_id: UUID, account_id: str, amount_micros: int) -> Transfer:
    """Send a transfer for a payout.

    Raises:
        StripeRefused: it was not made and never will be.
        StripeUnreachable: nobody knows whether it was made.
    """
    currency = settings.MARKET_CURRENCY.lower()
    with stripe_calls() as api:
        made = api.v1.transfers.create(
            {
                "amount": to_minor(amount_micros, currency),
                "currency": currency,
                "destination": account_id,
                "transfer_group": _group(payout_id),
                "metadata": {PAYOUT_MARK: payout_id.hex},
            },
            {"idempotency_key": f"payout:{payout_id.hex}"},
        )
    return _read(made)


def find_transfer(*, payout_id: UUID) -> Transfer | None:
    """Return the transfer that an unanswered attempt made.

    Stripe forgets idempotency keys after a day, and a group never.
    """
    with stripe_calls() as api:
        found = api.v1.transfers.list({"transfer_group": _group(payout_id), "limit": _FEW})
    return next((_read(each) for each in found.data), None)


def fetch_transfer(transfer_id: str) -> tuple[UUID | None, Transfer]:
    """Return a transfer by its id, and the payout that it was made for."""
    with stripe_calls() as api:
        found = api.v1.transfers.retrieve(transfer_id)
    return _with_payout(found)


def transfers_since(since: datetime) -> Iterator[tuple[UUID | None, Transfer]]:
    """Yield all transfers since then, each with the payout that it was made for."""
    with stripe_calls() as api:
        query: Any = {"created": {"gte": int(since.timestamp())}, "limit": _PAGE}
        for row in api.v1.transfers.list(query).auto_paging_iter():
            yield _with_payout(row)


def _with_payout(found: stripe.Transfer) -> tuple[UUID | None, Transfer]:
    marks: dict[str, Any] = found.to_dict().get("metadata") or {}
    try:
        return UUID(hex=str(marks.get(PAYOUT_MARK, ""))), _read(found)
    except ValueError:
        return None, _read(found)


def _group(payout_id: UUID) -> str:
    return f"payout_{payout_id.hex}"


def _read(found: stripe.Transfer) -> Transfer:
    return Transfer(id=found.id, amount_micros=to_micros(found.amount, found.currency), reversed=bool(found.reversed))
