"""What PostgreSQL has: columns and rules of each table, so that the schema of the landing before can be kept beside it.

`python -m tests.ops.schema` says how to write `schema_before.json` anew.
"""

import json
from pathlib import Path
from typing import Any

from django.db import connection

BEFORE = Path(__file__).with_name("schema_before.json")
_COLUMNS = """
SELECT table_name, column_name, data_type || coalesce('(' || character_maximum_length || ')', ''),
       is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO' AND is_generated = 'NEVER'
FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2
"""
_RULES = """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE contype IN ('c', 'u', 'x', 'f') AND connamespace = 'public'::regnamespace
UNION ALL
SELECT indrelid::regclass::text, indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
JOIN pg_class ON pg_class.oid = indrelid
WHERE indisunique AND NOT indisprimary AND relnamespace = 'public'::regnamespace
  AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
ORDER BY 1, 2
"""

Schema = dict[str, dict[str, dict[str, Any]]]


def present_schema() -> Schema:
    """Of each table its columns, as [type, whether whoever inserts has to name it], and its rules, as their text."""
    found: Schema = {}
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS)
        for table, column, kind, needed in cursor.fetchall():
            found.setdefault(table, {"columns": {}, "rules": {}})["columns"][column] = [kind, needed]
        cursor.execute(_RULES)
        for table, name, text in cursor.fetchall():
            found.setdefault(table, {"columns": {}, "rules": {}})["rules"][name] = text
    return found


def schema_before() -> Schema:
    schema: Schema = json.loads(BEFORE.read_text())
    return schema


def write_schema() -> None:
    """A line for each table, so that a change is seen where it is."""
    lines = (
        f"{json.dumps(table)}: {json.dumps(parts, sort_keys=True)}" for table, parts in sorted(present_schema().items())
    )
    BEFORE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    print("BERTH_WRITE_SCHEMA=1 .venv/bin/python -m pytest -n 0 tests/ops/test_schema.py   (after a landing, on its commit)")
