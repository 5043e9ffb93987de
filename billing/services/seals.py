"""Seals what has been posted into the hash chain, without stopping anybody who posts meanwhile."""

import time
from typing import Final

from django.db import connection

from billing.models import Seal
from common import clock
from common.database import use_case

WAIT_S: Final = 30.0
"""So long a transaction that is posting right now is waited for; then the next sweep seals."""

_STEP_S: Final = 0.05
_FIRST: Final = "0" * 64

# A number of the sequence is taken under the table's lock, which its writer keeps to the end of its transaction. So when
# all who write now have ended, every posting up to the number read before is there or will never be.
_LAST_NUMBER = "SELECT last_value FROM billing_posting_id_seq"
_WRITERS = """
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'relation' AND relation = 'billing_posting'::regclass AND pid IS DISTINCT FROM pg_backend_pid()
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
"""

_SEAL = """
WITH last AS (
    SELECT number, upto, head FROM billing_seal ORDER BY number DESC LIMIT 1
), span AS (
    SELECT COALESCE((SELECT number FROM last), 0) + 1 AS number, COALESCE((SELECT upto FROM last), 0) AS after,
           COALESCE((SELECT head FROM last), %(first)s) AS previous,
           (SELECT max(id) FROM billing_posting WHERE id <= %(upto)s) AS upto
), draft AS (
    SELECT span.number, span.after, span.upto, sealed.postings, sealed.entries, sealed.usage_rows, sealed.body,
           span.previous, %(now)s::timestamptz AS sealed_at
    FROM span CROSS JOIN LATERAL billing_seal_body(span.after, span.upto) AS sealed
    WHERE span.upto > span.after
)
INSERT INTO billing_seal (number, after, upto, postings, entries, usage_rows, body, previous, sealed_at, head)
SELECT number, after, upto, postings, entries, usage_rows, body, previous, sealed_at, encode(billing_digest(json_build_array(
    'seal', number, previous, after, upto, postings, entries, usage_rows, body, billing_stamp(sealed_at))), 'hex')
FROM draft
RETURNING number
"""


def seal_ledger() -> Seal | None:
    """Seal everything posted since the last seal; None when there is nothing, or somebody posts for longer than WAIT_S."""
    upto = _settled_number()
    if upto is None:
        return None
    with use_case(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE billing_seal IN SHARE ROW EXCLUSIVE MODE")  # one at a time
        cursor.execute(_SEAL, {"upto": upto, "first": _FIRST, "now": clock.now()})
        row = cursor.fetchone()
    return None if row is None else Seal.objects.get(number=row[0])


def _settled_number() -> int | None:
    """A posting's number below which no other will ever appear."""
    with connection.cursor() as cursor:
        cursor.execute(_LAST_NUMBER)
        upto = int(cursor.fetchone()[0])
        writing = _writers(cursor)
        deadline = time.monotonic() + WAIT_S
        while writing and time.monotonic() < deadline:
            time.sleep(_STEP_S)
            writing &= _writers(cursor)
    return None if writing else upto


def _writers(cursor: "object") -> set[str]:
    cursor.execute(_WRITERS)  # type: ignore[attr-defined]
    return {row[0] for row in cursor.fetchall()}  # type: ignore[attr-defined]
