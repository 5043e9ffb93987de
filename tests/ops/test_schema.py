"""Old code runs on the new schema, since a migration comes while the processes of before still serve (fault 86).

`schema_before.json` is the schema of the landing before. Its code reads and writes the columns that are in there, and names
no others: nothing of them may go or narrow, and a new column must be filled by PostgreSQL where the old code inserts.
"""

import os

import pytest
from django.db import connection

from tests.ops.schema import Schema, present_schema, schema_before, write_schema
from tests.roles import as_owner

pytestmark = pytest.mark.django_db

# New rules on tables of before, each with why rows of the code of before keep it. Emptied when the snapshot is written anew.
KEPT_BY_OLD_CODE: dict[str, str] = {
    "instances_instance_launch_id_2b38eb30_fk_instances_launch_id": "the old code leaves the new column null",
    "instances_instance_former_launch_id_0d69595b_fk_instances": "the old code leaves the new column null",
    "quote_template_is_whole": "the old code leaves both new columns null",
    "instances_quote_launch_id_5c777a00_fk_instances_launch_id": "the old code leaves the new column null",
}
_WIDER = {
    ("integer", "bigint"),
    ("smallint", "integer"),
    ("character varying", "text"),
}


def breaks(before: Schema, after: Schema) -> list[str]:
    """Each change that the code of before would stumble over, in words."""
    found = []
    for table, old in before.items():
        new = after.get(table)
        if new is None:
            found.append(f"{table} is gone")
            continue
        for column, (kind, _) in old["columns"].items():
            found += _column_breaks(table, column, kind, new["columns"].get(column))
        for column, (_, needed) in new["columns"].items():
            was_needed = old["columns"].get(column, ["", False])[1]
            if needed and not was_needed:
                found.append(f"{table}.{column} has to be named by whoever inserts: give it a db_default")
        found += [
            f"{table} has the new rule {name}: {text}"
            for name, text in new["rules"].items()
            if text not in old["rules"].values() and name not in KEPT_BY_OLD_CODE
        ]
    return found


def _column_breaks(table: str, column: str, kind: str, now: list[object] | None) -> list[str]:
    if now is None:
        return [f"{table}.{column} is gone"]
    return [] if now[0] == kind or _is_wider(kind, str(now[0])) else [f"{table}.{column} was {kind} and is {now[0]}"]


def _is_wider(old: str, new: str) -> bool:
    (old_name, _, old_size), (new_name, _, new_size) = old.partition("("), new.partition("(")
    if (old_name, new_name) in _WIDER:
        return True
    return old_name == new_name and bool(old_size) and bool(new_size) and int(old_size[:-1]) <= int(new_size[:-1])


def test_fault_086_the_code_of_the_landing_before_runs_on_this_schema() -> None:
    if os.environ.get("BERTH_WRITE_SCHEMA"):
        write_schema()
    assert breaks(schema_before(), present_schema()) == []


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ("ALTER TABLE marketplace_host DROP COLUMN kernel", "marketplace_host.kernel is gone"),
        ("ALTER TABLE marketplace_host RENAME COLUMN kernel TO core", "marketplace_host.kernel is gone"),
        ("ALTER TABLE marketplace_host ADD COLUMN core text NOT NULL DEFAULT ''; "
         "ALTER TABLE marketplace_host ALTER COLUMN core DROP DEFAULT", "marketplace_host.core has to be named"),
        ("ALTER TABLE marketplace_host ALTER COLUMN kernel TYPE varchar(10)", "kernel was character varying(120)"),
        ("ALTER TABLE marketplace_host ADD CONSTRAINT odd CHECK (cpu_cores % 2 = 1)", "the new rule odd"),
        ("CREATE UNIQUE INDEX one_kernel ON marketplace_host (kernel)", "the new rule one_kernel"),
        ("ALTER TABLE marketplace_measurement RENAME TO measured", "marketplace_measurement is gone"),
    ],
)  # fmt: skip
def test_fault_086_each_contraction_is_found(change: str, word: str) -> None:
    with as_owner(), connection.cursor() as cursor:
        cursor.execute(change)
    (found,) = breaks(schema_before(), present_schema())[:1]
    assert word in found
