"""Reads of the hash chain: a posting's seal, the latest seals, and all covered rows as text."""

from collections.abc import Iterator
from typing import Final

from django.db import connection, transaction

from billing.models import Seal

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
