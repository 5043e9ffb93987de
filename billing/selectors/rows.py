"""Runs a query of the money's and gives its rows."""

from typing import Any

from django.db import connection

from common.prepared import run


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
