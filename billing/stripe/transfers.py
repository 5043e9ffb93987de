"""Transfers to connected accounts of Stripe: sent once by a payout's own key, and found again by its group."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import stripe
from django.conf import settings

from billing.errors import StripeRefused, StripeUnreachable
from billing.stripe.currencies import to_micros, to_minor
from billing.stripe.link import client

PAYOUT_MARK: Final = "berth_payout"
_FEW: Final = 10


@dataclass(frozen=True)
class Transfer:
    """Money that went from the market's balance at Stripe to a host owner's."""

    id: str
    amount_micros: int
    reversed: bool


def send_transfer(*, payout_id: UUID, account_id: str, amount_micros: int) -> Transfer:
    """Raises StripeRefused when it was not made and never will be, StripeUnreachable when nobody knows."""
    currency = settings.MARKET_CURRENCY.lower()
    with _calls() as api:
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
    """What an attempt without an answer has made. Stripe forgets keys after a day, and a group never."""
    with _calls() as api:
        found = api.v1.transfers.list({"transfer_group": _group(payout_id), "limit": _FEW})
    return next((_read(each) for each in found.data), None)


def check_account(account_id: str) -> None:
    """Raises StripeRefused unless this account is connected to the market and may receive transfers."""
    with _calls() as api:
        found: dict[str, Any] = api.v1.accounts.retrieve(account_id).to_dict()
    if (found.get("capabilities") or {}).get("transfers", "active") != "active":
        raise StripeRefused("Stripe still needs something from you before this account can receive transfers.")


@contextmanager
def _calls() -> Iterator[stripe.StripeClient]:
    """Only what Stripe has looked at and turned down counts as refused.

    A key in use (another worker is just sending it) and everything unexpected may have become a transfer.
    """
    try:
        yield client()
    except (stripe.InvalidRequestError, stripe.PermissionError) as error:
        raise StripeRefused(error.user_message or str(error), reason=error.code or "") from error
    except stripe.StripeError as error:
        raise StripeUnreachable from error


def _group(payout_id: UUID) -> str:
    return f"payout_{payout_id.hex}"


def _read(found: stripe.Transfer) -> Transfer:
    return Transfer(id=found.id, amount_micros=to_micros(found.amount, found.currency), reversed=bool(found.reversed))
