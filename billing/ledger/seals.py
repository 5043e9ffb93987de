"""Seals of the ledger: new postings enter the hash chain without blocking writers.

The module also reads the chain.
"""

import time
from collections.abc import Iterator
from typing import Final

from django.db import connection, transaction

from billing.models import Seal
from common import clock
from common.db.transactions import use_case

WAIT_S: Final = 30.0
"""Time that sealing waits for transactions which are posting now; after that, the next sweep seals."""

_STEP_S: Final = 0.05
_FIRST: Final = "0" * 64

# A number of the sequence is drawn under a table lock that its writer keeps until its transaction ends. So once all
# present writers have finished, every posting and record up to the numbers read before exists or never will.
_LAST_NUMBERS = (
    "SELECT posting.last_value, record.last_value FROM billing_posting_id_seq posting, billing_record_id_seq record"
)
_WRITERS = """
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'relation' AND relation IN ('billing_posting'::regclass, 'billing_record'::regclass)
  AND pid IS DISTINCT FROM pg_backend_pid()
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
"""

_ONE_AT_A_TIME = "SELECT pg_advisory_xact_lock(hashtext('billing.seal'))"
_SEAL = """
WITH last AS (
    SELECT number, upto, head, COALESCE(records_upto, 0) AS records_upto FROM billing_seal ORDER BY number DESC LIMIT 1
), span AS (
    SELECT COALESCE((SELECT number FROM last), 0) + 1 AS number, COALESCE((SELECT upto FROM last), 0) AS after,
           COALESCE((SELECT head FROM last), %(first)s) AS previous,
           (SELECT max(id) FROM billing_posting WHERE id <= %(upto)s) AS upto,
           COALESCE((SELECT records_upto FROM last), 0) AS records_after,
           COALESCE((SELECT max(id) FROM billing_record WHERE id <= %(records_upto)s), 0) AS records_upto
), draft AS (
    SELECT span.number, span.after, span.upto, sealed.postings, sealed.entries, sealed.usage_rows, sealed.body,
           span.previous, %(now)s::timestamptz AS sealed_at, span.records_after, span.records_upto, recorded.records,
           recorded.body AS records_body, NULL::text AS head
    FROM span CROSS JOIN LATERAL billing_seal_body(span.after, span.upto) AS sealed
    CROSS JOIN LATERAL billing_records_body(span.records_after, span.records_upto) AS recorded
    WHERE span.upto > span.after
)
INSERT INTO billing_seal (number, after, upto, postings, entries, usage_rows, body, previous, sealed_at, records_after,
                          records_upto, records, records_body, head)
SELECT number, after, upto, postings, entries, usage_rows, body, previous, sealed_at, records_after, records_upto, records,
       records_body,
       encode(billing_digest(billing_canonical_seal(jsonb_populate_record(NULL::billing_seal, to_jsonb(draft)))), 'hex')
FROM draft
RETURNING number
"""
_CHUNK: Final = 5_000
# In the order of the digests: each seal, then the rows that it covers.
_EXPORT: Final = """
SELECT canonical::text FROM (
    SELECT number, 0 AS place, 0 AS id, billing_canonical_seal(seal) AS canonical FROM billing_seal seal
    UNION ALL
    SELECT number, 1, id, billing_canonical_posting(p)
    FROM billing_seal seal JOIN billing_posting p ON p.id > seal.after AND p.id <= seal.upto
    UNION ALL
    SELECT number, 2, e.id, billing_canonical_entry(e)
    FROM billing_seal seal JOIN billing_entry e ON e.posting_id > seal.after AND e.posting_id <= seal.upto
    UNION ALL
    SELECT number, 3, u.id, billing_canonical_usage(u)
    FROM billing_seal seal JOIN billing_entry e ON e.posting_id > seal.after AND e.posting_id <= seal.upto
    JOIN billing_usage u ON u.charge_entry_id = e.id
    UNION ALL
    SELECT number, 4, r.id, billing_canonical_record(r)
    FROM billing_seal seal JOIN billing_record r ON r.id > seal.records_after AND r.id <= seal.records_upto) AS line
ORDER BY number, place, id
"""


def seal_ledger() -> Seal | None:
    """Seal all postings and records since the last seal and return the new seal.

    Returns None when nothing was posted, or when a writer stays active for longer than WAIT_S.
    """
    settled = _settled_numbers()
    if settled is None:
        return None
    upto, records_upto = settled
    with use_case(), connection.cursor() as cursor:
        cursor.execute(_ONE_AT_A_TIME)
        cursor.execute(_SEAL, {"upto": upto, "records_upto": records_upto, "first": _FIRST, "now": clock.now()})
        row = cursor.fetchone()
    return None if row is None else Seal.objects.get(number=row[0])


def _settled_numbers() -> tuple[int, int] | None:
    """Return the posting and record numbers up to which no further row can appear.

    Returns None when writers do not finish in time.
    """
    with connection.cursor() as cursor:
        cursor.execute(_LAST_NUMBERS)
        upto, records_upto = cursor.fetchone()
        writing = _writers(cursor)
        deadline = time.monotonic() + WAIT_S
        while writing and time.monotonic() < deadline:
            time.sleep(_STEP_S)
            writing &= _writers(cursor)
    return None if writing else (int(upto), int(records_upto))


def _writers(cursor: "object") -> set[str]:
    cursor.execute(_WRITERS)  # type: ignore[attr-defined]
    return {row[0] for row in cursor.fetchall()}  # type: ignore[attr-defined]


def seal_of(posting_id: int) -> Seal | None:
    """Return the seal that covers the posting, or None while it is too new."""
    return Seal.objects.filter(after__lt=posting_id, upto__gte=posting_id).first()


def latest_seals(count: int) -> list[Seal]:
    return list(Seal.objects.order_by("-number")[:count])


def sealed_lines() -> Iterator[str]:
    """Yield the text behind each digest, one line per seal or row, without loading all of them."""
    with transaction.atomic(), connection.chunked_cursor() as cursor:
        cursor.execute(_EXPORT)
        while rows := cursor.fetchmany(_CHUNK):
            yield from (row[0] for row in rows)
