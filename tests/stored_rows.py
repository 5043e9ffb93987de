"""Rows as the database has them, whatever the models make of them."""

from django.db import connection


def stored_text(table: str, *wanted: str) -> list[str]:
    """Those of these texts that stand anywhere in a table, which must have rows."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT kept::text FROM {connection.ops.quote_name(table)} kept")
        rows = [str(row) for (row,) in cursor.fetchall()]
    assert rows, f"{table} is empty"
    return [text for text in wanted if any(text in row for row in rows)]
