"""Charges proven use of many meters in a few statements; safe to run in parallel and to repeat.

It can be interrupted at any step.
"""

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection

from billing.constants import SETTLE_BATCH, SETTLE_LANES, SETTLE_LEAST
from billing.ledger.postings import lock_wallets
from billing.metering.hold_extension import extend_holds
from billing.metering.usage import post_usage, post_usage_of
from billing.models import Meter
from common import clock
from common.db.prepared import run
from common.db.transactions import use_case

__all__ = ["extend_holds", "lock_source", "settle_meters", "settle_source"]

logger = logging.getLogger(__name__)

# Payers with full hours of open meters or the rest of closed ones, cut into batches of about this many hours, and at
# least as many batches as can be charged in parallel. A payer is in one batch only, so that its wallet gets one
# entry. Only meters that are not finished are read.
_DUE = """
WITH due AS (
    SELECT payer_id, sum(hours) AS hours
    FROM (SELECT payer_id, GREATEST(1, billing_elapsed_us(
                     settled_until, LEAST(billing_meter_end(meter, %(now)s), %(now)s)) / 3600000000) AS hours
          FROM billing_meter meter
          WHERE NOT is_finished
            AND settled_until + CASE WHEN closed_at IS NULL THEN interval '1 hour' ELSE interval '1 microsecond' END
                <= LEAST(billing_meter_end(meter, %(now)s), %(now)s)) AS owing
    GROUP BY payer_id
)
SELECT array_agg(payer_id)::text
FROM (SELECT payer_id, floor((sum(hours) OVER (ORDER BY payer_id) - hours) / size) AS batch
      FROM due
      CROSS JOIN (SELECT LEAST(%(most)s, GREATEST(%(least)s, ceil(sum(hours) / %(lanes)s))) AS size FROM due) AS all_due
     ) AS cut
GROUP BY batch ORDER BY batch
"""

# Payers that another transaction has locked are left to it or to the next pass. The escrow of prepaid terms is a
# payer too and is locked after the hosts, as everywhere; where it pays, hosts are therefore locked before it, not
# after everything else is written.
_LOCK_PAYERS = """
SELECT array_agg(id)::text FROM (
    SELECT id FROM billing_wallet WHERE id = ANY(%(payers)s::uuid[]) AND (owner_id IS NULL) = %(market)s
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED) AS locked
"""
_LOCK_HOSTS = """
SELECT count(*) FROM (
    SELECT id FROM billing_wallet
    WHERE EXISTS (SELECT FROM billing_wallet WHERE id = ANY(%(payers)s::uuid[]) AND owner_id IS NULL)
      AND id IN (SELECT payee_id FROM billing_meter WHERE payer_id = ANY(%(payers)s::uuid[]) AND NOT is_finished)
    ORDER BY id FOR NO KEY UPDATE) AS locked
"""

_SOURCE_WALLETS = """
SELECT found.id
FROM (SELECT wallet_id AS id FROM billing_hold
      WHERE source_kind = %(kind)s AND source_id = %(source)s AND released_at IS NULL
      UNION SELECT unnest(ARRAY[payer_id, payee_id]) FROM billing_meter
      WHERE source_kind = %(kind)s AND source_id = %(source)s AND NOT is_finished) AS found
"""

_CLOSE = """
UPDATE billing_meter
SET closed_at = GREATEST(opened_at, COALESCE(%(at)s, %(now)s)),
    proven_until = CASE WHEN calendar THEN GREATEST(settled_until, COALESCE(%(at)s, %(now)s)) ELSE proven_until END
WHERE id = ANY(%(meters)s::uuid[]) AND closed_at IS NULL
"""


def settle_meters(*, now: datetime) -> int:
    """Charge every full hour of open meters and the rest of closed ones; return the usage rows written."""
    with connection.cursor() as cursor:
        cursor.execute(_DUE, {"now": now, "most": SETTLE_BATCH, "least": SETTLE_LEAST, "lanes": SETTLE_LANES})
        batches = [row[0] for row in cursor.fetchall()]
    if len(batches) <= 1 or connection.in_atomic_block:  # no other connection sees what this transaction wrote
        return sum(_settle_batch(payers, now) for payers in batches)
    waiting: SimpleQueue[Any] = SimpleQueue()
    for payers in batches:
        waiting.put(payers)
    with ThreadPoolExecutor(SETTLE_LANES - 1) as threads:
        others = [threads.submit(_settle_apart, waiting, now) for _ in range(SETTLE_LANES - 1)]
        return _settle_waiting(waiting, now) + sum(batch.result() for batch in others)


def _settle_apart(waiting: SimpleQueue[Any], now: datetime) -> int:
    """Settle batches in a thread, on a connection of its own."""
    try:
        return _settle_waiting(waiting, now)
    finally:
        connection.close()


def _settle_waiting(waiting: SimpleQueue[Any], now: datetime) -> int:
    settled = 0
    with suppress(Empty):
        while True:
            settled += _settle_batch(waiting.get_nowait(), now)
    return settled


def lock_source(*, source_kind: str, source_id: UUID) -> bool:
    """Lock every wallet that closing this source will move; return False when there is nothing to close.

    Must be the first step of the use case, before hosts and instances are locked. The platform's wallet is moved
    last and not locked here: every end of a run needs it.
    """
    with connection.cursor() as cursor:
        run(cursor, _SOURCE_WALLETS, {"kind": source_kind, "source": source_id})
        return bool(lock_wallets([row[0] for row in cursor.fetchall()]))


def settle_source(*, source_kind: str, source_id: UUID, at: datetime | None = None) -> None:
    """Close the source's open meter and charge all that it has proven.

    The transaction has called `lock_source`. A calendar meter ends at `at`, by default now.
    """
    meter_ids = _lock_meters(source_kind, source_id)
    now = clock.now()
    with connection.cursor() as cursor:
        cursor.execute(_CLOSE, {"meters": meter_ids, "at": at, "now": now})
    post_usage(meter_ids=meter_ids, at=now)


def _lock_meters(source_kind: str, source_id: UUID) -> list[UUID]:
    """Lock the source's open or unsettled meters until the transaction ends and return their ids.

    Locking waits for a proof that is just being written. A proof after a gap replaces the meter by a successor
    that no earlier snapshot contains, so the search repeats until nothing new turns up: every snapshot contains
    one of the two. The lock selects by primary key alone, because a row that was closed during the wait would
    otherwise drop out and end the search.
    """
    unsettled = Meter.objects.filter(is_finished=False, source_kind=source_kind, source_id=source_id)
    locked: set[UUID] = set()
    while missing := set(unsettled.values_list("pk", flat=True)) - locked:
        rows = Meter.objects.filter(pk__in=missing).order_by("pk").select_for_update(of=("self",), no_key=True)
        locked.update(meter.pk for meter in rows)
    return sorted(locked)


def _settle_batch(payers: Any, now: datetime) -> int:
    """Settle payers in one transaction; when the database refuses it, settle each half alone.

    So one broken meter cannot stop the charges of everybody else.
    """
    try:
        with use_case():
            return post_usage_of(payers=_lock(payers), at=clock.now(), until=now)
    except IntegrityError:
        several = _ids(payers)
    if len(several) == 1:
        return _settle_meters_of(several[0], now)
    middle = len(several) // 2
    return _settle_batch(several[:middle], now) + _settle_batch(several[middle:], now)


def _settle_meters_of(payer_id: UUID, now: datetime) -> int:
    """Charge the meters of a payer one by one, since one of them is broken."""
    meters = Meter.objects.filter(payer_id=payer_id, is_finished=False).order_by("pk").values_list("pk", flat=True)
    return sum(_settle_alone(payer_id, meter_id, now) for meter_id in list(meters))


def _settle_alone(payer_id: UUID, meter_id: UUID, now: datetime) -> int:
    try:
        with use_case():
            _lock([payer_id])
            return post_usage(meter_ids=[meter_id], at=clock.now(), until=now)
    except IntegrityError:
        logger.exception("meter %s cannot be settled; verify_ledger tells why", meter_id)
        return 0


def _lock(payers: Any) -> Any:
    """Lock the wallets of payers that nobody else has locked, and those of their hosts.

    Returns the payers that may be charged now.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL work_mem = '256MB'")  # a batch is computed in memory
        cursor.execute(_LOCK_PAYERS, {"payers": payers, "market": False})
        (locked,) = cursor.fetchone()
        cursor.execute(_LOCK_HOSTS, {"payers": payers})
        cursor.execute(_LOCK_PAYERS, {"payers": payers, "market": True})
        (escrow,) = cursor.fetchone()
    if escrow is None:
        return locked or "{}"
    return [*_ids(locked or "{}"), *_ids(escrow)]


def _ids(array: Any) -> Sequence[UUID]:
    """Return the ids in a list or in PostgreSQL's text of a uuid array."""
    return [UUID(text) for text in array.strip("{}").split(",") if text] if isinstance(array, str) else array
