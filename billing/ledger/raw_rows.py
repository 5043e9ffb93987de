"""Runs SQL queries of billing and returns their rows."""

from typing import Any, Final

from django.db import connection

from common.db.prepared import run

# Joined to `posting`: a credit keeps its meter's rate; for how many hours the rate applies is stored only on the
# meter.
METER_OF_CREDIT: Final = """\
LEFT JOIN LATERAL (
    SELECT metered.rate_hours FROM billing_meter metered
    WHERE posting.kind = 'credit' AND metered.source_kind = posting.source_kind AND metered.source_id = posting.source_id
      AND metered.opened_at <= posting.period_from AND posting.period_to <= metered.settled_until
    LIMIT 1) AS given ON true"""


def rows(query: str, **parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return list(cursor.fetchall())


def planned_rows(query: str, **parameters: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a query that each connection plans only once.

    For queries that run often and take longer to plan than to run. Parameters that the query does not name are
    ignored.
    """
    named = {name: value for name, value in parameters.items() if f"%({name})s" in query}
    with connection.cursor() as cursor:
        run(cursor, query, named)
        return list(cursor.fetchall())
