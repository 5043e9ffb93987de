"""Charges proven use and renews holds, many meters in a few statements; safe to run by several workers and to repeat."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection
from django.db.models import Q

from billing.models import ACCRUING, Meter
from billing.policy import HOLD_RENEWAL_LEAD, SETTLE_AT_MOST, SETTLE_BATCH
from billing.pricing import hold_for
from billing.services.ledger import lock_wallets, post_usage
from common import clock
from common.database import use_case

logger = logging.getLogger(__name__)

_HOUR = timedelta(hours=1)

_DUE = """
SELECT id FROM billing_meter
WHERE closed_at IS NULL AND settled_until < LEAST(proven_until, funded_until, capped_at)
  AND settled_until <= %(hour_ago)s
  AND settled_until + interval '1 hour' <= LEAST(proven_until, funded_until, capped_at)
UNION ALL
SELECT id FROM billing_meter
WHERE closed_at IS NOT NULL AND settled_until < LEAST(proven_until, funded_until, capped_at)
LIMIT %(limit)s
"""

_WALLETS = """
SELECT payer_id FROM billing_meter WHERE id = ANY(%(meters)s::uuid[])
UNION SELECT payee_id FROM billing_meter WHERE id = ANY(%(meters)s::uuid[])
UNION SELECT id FROM billing_wallet WHERE kind = 'platform'
"""

_SOURCE_WALLETS = """
SELECT wallet_id FROM billing_hold
WHERE source_kind = %(kind)s AND source_id = %(source)s AND released_at IS NULL
UNION SELECT unnest(ARRAY[payer_id, payee_id, platform.id])
FROM billing_meter meter CROSS JOIN (SELECT id FROM billing_wallet WHERE kind = 'platform') AS platform
WHERE source_kind = %(kind)s AND source_id = %(source)s
  AND (closed_at IS NULL OR settled_until < LEAST(proven_until, funded_until, capped_at))
"""

_PAYERS_TO_RENEW = """
SELECT DISTINCT payer_id FROM billing_meter
WHERE closed_at IS NULL AND capped_at IS NULL AND funded_until <= %(soon)s AND rate_micros_per_hour > 0
"""

_RENEWABLE = """
SELECT meter.id, hold.id, hold.wallet_id, meter.rate_micros_per_hour, meter.funded_until
FROM billing_meter meter
JOIN billing_hold hold USING (source_kind, source_id)
WHERE meter.closed_at IS NULL AND meter.capped_at IS NULL AND meter.funded_until <= %(soon)s
  AND meter.rate_micros_per_hour > 0 AND hold.released_at IS NULL AND hold.wallet_id = ANY(%(wallets)s::uuid[])
ORDER BY meter.funded_until, meter.id
FOR NO KEY UPDATE OF meter SKIP LOCKED
"""

_RENEW = """
WITH renewal AS (
    SELECT * FROM unnest(%(meters)s::uuid[], %(holds)s::uuid[], %(wallets)s::uuid[], %(hours)s::int[], %(amounts)s::bigint[])
        AS renewal (meter_id, hold_id, wallet_id, hours, amount)
), prolonged AS (
    UPDATE billing_meter meter SET funded_until = funded_until + hours * interval '1 hour'
    FROM renewal WHERE meter.id = renewal.meter_id
), raised AS (
    UPDATE billing_hold hold SET amount_micros = amount_micros + amount
    FROM renewal WHERE hold.id = renewal.hold_id
)
UPDATE billing_wallet wallet SET held_micros = held_micros + total.amount
FROM (SELECT wallet_id, sum(amount) AS amount FROM renewal GROUP BY wallet_id) AS total
WHERE wallet.id = total.wallet_id
"""


@dataclass(frozen=True)
class _Renewal:
    """An open meter whose hold is nearly used up, and the whole hours it gets."""

    meter_id: UUID
    hold_id: UUID
    wallet_id: UUID
    hours: int
    amount_micros: int


def settle_meters(*, now: datetime) -> int:
    """Post every full hour of open meters and the rest of closed ones; the number of postings written."""
    due = _ids(_DUE, hour_ago=now - _HOUR, limit=SETTLE_AT_MOST)
    return sum(_settle_batch(batch, now) for batch in _batches(due))


def lock_source(*, source_kind: str, source_id: UUID) -> bool:
    """Lock every wallet that closing this source will move: first thing in the use case, before hosts and instances.

    False when nothing is held or owed for it, so that there is nothing to close.
    """
    return bool(lock_wallets(_ids(_SOURCE_WALLETS, kind=source_kind, source=source_id)))


def settle_source(*, source_kind: str, source_id: UUID) -> None:
    """Close the source's open meter and charge all that it has proven, in a transaction that has called `lock_source`."""
    meter_ids = _lock_meters(source_kind, source_id)
    now = clock.now()
    Meter.objects.filter(pk__in=meter_ids, closed_at__isnull=True).update(closed_at=now)
    post_usage(meter_ids=meter_ids, until=None, at=now)


def extend_holds(*, now: datetime) -> int:
    """Hold one more hour for each open meter about to run out whose wallet can pay; how many meters were renewed.

    After an outage of this sweep a meter gets as many hours at once as it needs to be ahead of `now` again.
    """
    soon = now + HOLD_RENEWAL_LEAD
    return sum(_extend_batch(batch, soon) for batch in _batches(_ids(_PAYERS_TO_RENEW, soon=soon)))


def _lock_meters(source_kind: str, source_id: UUID) -> list[UUID]:
    """The source's open or unsettled meters, locked until the transaction ends.

    Locking waits for a proof that is just being written. One that came after a gap has replaced the meter by a successor,
    which no earlier snapshot holds: so look again until nothing new turns up. Every snapshot holds one of the two, and the
    lock asks for keys alone, lest a row that was closed while we waited drop out and end the search.
    """
    unsettled = Meter.objects.filter(Q(closed_at__isnull=True) | ACCRUING, source_kind=source_kind, source_id=source_id)
    locked: set[UUID] = set()
    while missing := set(unsettled.values_list("pk", flat=True)) - locked:
        rows = Meter.objects.filter(pk__in=missing).order_by("pk").select_for_update(of=("self",), no_key=True)
        locked.update(meter.pk for meter in rows)
    return sorted(locked)


def _settle_batch(meter_ids: Sequence[UUID], now: datetime) -> int:
    """One transaction; when the database refuses it, halves, so that one broken meter cannot stop everybody's bill."""
    try:
        with use_case():
            lock_wallets(_ids(_WALLETS, meters=list(meter_ids)))
            return post_usage(meter_ids=meter_ids, until=now, at=now)
    except IntegrityError:
        if len(meter_ids) == 1:
            logger.exception("meter %s cannot be settled; verify_ledger tells why", meter_ids[0])
            return 0
    middle = len(meter_ids) // 2
    return _settle_batch(meter_ids[:middle], now) + _settle_batch(meter_ids[middle:], now)


def _extend_batch(wallet_ids: Sequence[UUID], soon: datetime) -> int:
    with use_case():
        wallets = lock_wallets(wallet_ids)
        spendable = {wallet.pk: wallet.spendable_micros for wallet in wallets.values()}
        with connection.cursor() as cursor:
            cursor.execute(_RENEWABLE, {"soon": soon, "wallets": list(wallet_ids)})
            renewals = list(_affordable(cursor.fetchall(), spendable, soon))
            if renewals:
                cursor.execute(_RENEW, _columns(renewals))
    return len(renewals)


def _affordable(rows: Sequence[tuple[Any, ...]], spendable: dict[UUID, int], soon: datetime) -> Iterator[_Renewal]:
    """First come, first served: who runs out first is renewed first; one that is too dear does not stand in the way."""
    for meter_id, hold_id, wallet_id, rate, funded_until in rows:
        wanted = (soon - funded_until) // _HOUR + 1
        hours = min(wanted, spendable[wallet_id] // rate)
        if hours > 0:
            amount = hold_for(rate, hours)
            spendable[wallet_id] -= amount
            yield _Renewal(meter_id, hold_id, wallet_id, hours, amount)


def _columns(renewals: Sequence[_Renewal]) -> dict[str, list[Any]]:
    return {
        "meters": [renewal.meter_id for renewal in renewals],
        "holds": [renewal.hold_id for renewal in renewals],
        "wallets": [renewal.wallet_id for renewal in renewals],
        "hours": [renewal.hours for renewal in renewals],
        "amounts": [renewal.amount_micros for renewal in renewals],
    }


def _ids(query: str, **parameters: Any) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return [row[0] for row in cursor.fetchall()]


def _batches(ids: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    for start in range(0, len(ids), SETTLE_BATCH):
        yield ids[start : start + SETTLE_BATCH]
