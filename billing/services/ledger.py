"""The ledger's only writer: single postings and, set-based, the usage of many meters. Wallet rows are locked in pk order."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import F

from billing.models import Entry, Posting, Wallet

# Cuts each meter at whole hours since it opened; an open meter only as far as the last full hour. The meters' wallets are
# locked by now, so the snapshot of this statement holds every earlier settlement and hold. Meters that another
# transaction has in hand are left to the next pass: a settlement never waits for a meter while it holds wallets.
_POST_USAGE = """
WITH due AS (
    SELECT *, LEAST(proven_until, funded_until, capped_at, %(until)s::timestamptz) AS chargeable_until
    FROM billing_meter
    WHERE id = ANY(%(meters)s::uuid[])
      AND settled_until < LEAST(proven_until, funded_until, capped_at, %(until)s::timestamptz)
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
), piece AS (
    SELECT due.*,
           GREATEST(settled_until, opened_at + n * interval '1 hour') AS period_from,
           LEAST(chargeable_until, opened_at + (n + 1) * interval '1 hour') AS period_to
    FROM due CROSS JOIN LATERAL generate_series(
        billing_elapsed_us(opened_at, settled_until) / 3600000000,
        (billing_elapsed_us(opened_at, chargeable_until) - 1) / 3600000000) AS n
    WHERE closed_at IS NOT NULL OR opened_at + (n + 1) * interval '1 hour' <= chargeable_until
), reckoned AS (
    SELECT piece.*,
           billing_cumulative(rate_micros_per_hour, opened_at, period_from) AS cost_before,
           billing_cumulative(rate_micros_per_hour, opened_at, period_to) AS cost_after
    FROM piece
), line AS (
    SELECT reckoned.*, cost_after - cost_before AS charge,
           billing_fee(cost_after, fee_bps::int) - billing_fee(cost_before, fee_bps::int) AS fee
    FROM reckoned
), posted AS (
    INSERT INTO billing_posting (idempotency_key, kind, source_kind, source_id, memo, actor, meter_id,
                                 period_from, period_to, rate_micros_per_hour, created_at)
    SELECT 'meter:' || id || ':' || to_char(period_from AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
           'usage', source_kind, source_id, label, 'meter', id,
           period_from, period_to, rate_micros_per_hour, %(at)s
    FROM line ORDER BY id, period_from
    RETURNING id AS posting_id, meter_id, period_from
), entry AS (
    INSERT INTO billing_entry (posting_id, wallet_id, kind, amount_micros)
    SELECT posted.posting_id, side.wallet_id, side.kind, side.amount
    FROM posted
    JOIN line ON line.id = posted.meter_id AND line.period_from = posted.period_from
    CROSS JOIN (SELECT id FROM billing_wallet WHERE kind = 'platform') AS platform (wallet)
    CROSS JOIN LATERAL (VALUES
        (payer_id, 'charge', -charge),
        (payee_id, 'host_share', charge - fee),
        (platform.wallet, 'platform_fee', fee)) AS side (wallet_id, kind, amount)
    ORDER BY posted.posting_id
    RETURNING wallet_id, amount_micros
), used AS (
    SELECT source_kind, source_id, sum(charge) AS charge FROM line GROUP BY source_kind, source_id
), consumed AS (
    UPDATE billing_hold hold SET amount_micros = hold.amount_micros - used.charge
    FROM used
    WHERE hold.source_kind = used.source_kind AND hold.source_id = used.source_id AND hold.released_at IS NULL
    RETURNING hold.wallet_id, used.charge
), change AS (
    SELECT wallet_id, sum(balance) AS balance, sum(held) AS held
    FROM (SELECT wallet_id, amount_micros AS balance, 0 AS held FROM entry
          UNION ALL SELECT wallet_id, 0, charge FROM consumed) AS both_sides
    GROUP BY wallet_id
), paid AS (
    UPDATE billing_wallet wallet
    SET balance_micros = balance_micros + change.balance, held_micros = held_micros - change.held
    FROM change WHERE wallet.id = change.wallet_id
), advanced AS (
    UPDATE billing_meter meter SET settled_until = done.period_to
    FROM (SELECT id, max(period_to) AS period_to FROM line GROUP BY id) AS done
    WHERE meter.id = done.id
)
SELECT count(*) FROM posted
"""


@dataclass(frozen=True)
class Movement:
    """One entry to be: what a wallet gains (or, negative, loses)."""

    wallet_id: UUID
    kind: Entry.Kind
    amount_micros: int


def lock_wallets(wallet_ids: Sequence[UUID]) -> dict[UUID, Wallet]:
    """The rows, locked until the transaction ends, in the house order: wallets before everything else, by pk."""
    rows = Wallet.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=set(wallet_ids)).order_by("pk")
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
    """Write one posting and move the balances, inside the caller's transaction. False when `key` was posted before.

    The database refuses movements that do not add up to zero when the transaction commits.
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


def post_usage(*, meter_ids: Sequence[UUID], until: datetime | None, at: datetime) -> int:
    """Charge what these meters have proven, in one statement; the number of postings written.

    Inside a transaction that has locked the meters' wallets and the platform's (`lock_wallets`). Open meters are charged
    for whole hours since they opened, closed ones to their end; nothing after `until`, when it is given.
    """
    with connection.cursor() as cursor:
        cursor.execute(_POST_USAGE, {"meters": list(meter_ids), "until": until, "at": at})
        (postings,) = cursor.fetchone()
    return int(postings)
