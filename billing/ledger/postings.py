"""Writer of single postings, and the order of wallet locks; `billing.metering.usage` writes usage."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Case, F, Value, When

from billing.models import Entry, Posting, Wallet

# Wallets are locked by owner's kind first: payers before earners, and the market's own last, so that a settlement
# holds the platform's wallet only for its last statement.
_LOCK_ORDER = Case(
    *(When(kind=kind, then=Value(place)) for place, kind in enumerate(("renter", "coupon", "debt", "host"))),
    When(kind="gifts", then=Value(9)),
    default=Value(5),
)


@dataclass(frozen=True)
class Movement:
    """Entry to be written: what a wallet gains or (negative) loses."""

    wallet_id: UUID
    kind: Entry.Kind
    amount_micros: int


def lock_wallets(wallet_ids: Sequence[UUID]) -> dict[UUID, Wallet]:
    """Lock wallets until the transaction ends and return them by id.

    Wallets are locked before all other rows, ordered by kind and primary key.
    """
    rows = Wallet.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=set(wallet_ids))
    rows = rows.order_by(_LOCK_ORDER, "pk")
    return {wallet.pk: wallet for wallet in rows}


def post(
    *,
    key: str,
    kind: Posting.Kind,
    source_kind: str,
    source_id: UUID,
    memo: str,
    actor: str,
    movements: Sequence[Movement],
    at: datetime,
    period: tuple[datetime, datetime] | None = None,
    rate_micros_per_hour: int | None = None,
) -> bool:
    """Write one posting and update balances in the caller's transaction; False when `key` exists.

    The database refuses movements that do not add up to zero.
    """
    lock_wallets([movement.wallet_id for movement in movements])
    if Posting.objects.filter(idempotency_key=key).exists():
        return False
    posting = Posting.objects.create(
        idempotency_key=key,
        kind=kind,
        source_kind=source_kind,
        source_id=source_id,
        memo=memo,
        actor=actor,
        period_from=period[0] if period else None,
        period_to=period[1] if period else None,
        rate_micros_per_hour=rate_micros_per_hour,
        created_at=at,
    )
    Entry.objects.bulk_create(
        Entry(posting=posting, wallet_id=m.wallet_id, kind=m.kind, amount_micros=m.amount_micros) for m in movements
    )
    for m in movements:
        Wallet.objects.filter(pk=m.wallet_id).update(balance_micros=F("balance_micros") + m.amount_micros)
    return True
