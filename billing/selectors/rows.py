"""Runs a query of the money's and gives its rows."""

from typing import Any

from django.db import connection


def rows(query: str, **parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return list(cursor.fetchall())
