"""Runs queries of the money and gives their rows."""

from typing import Any, Final

from django.db import connection

from common.db.prepared import run

# Joined to a `posting`: a credit keeps the rate of its meter, and for how many hours that is stands on the meter alone.
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
    """The same for what is asked again and again and takes longer to plan than to run: each connection plans it once.

    Other parameters may be given than the query names.
    """
    named = {name: value for name, value in parameters.items() if f"%({name})s" in query}
    with connection.cursor() as cursor:
        run(cursor, query, named)
        return list(cursor.fetchall())
