"""Mark of an unfinished restore: a table that arrives with the data and is dropped by the last step.

Between the two, the database lacks the new epoch and the freeze of money, so nothing of the market may work on it.
"""

from collections.abc import Sequence
from typing import Any, Final

from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connection

MARK: Final = "unfinished_restore"
SET_MARK: Final = f"CREATE TABLE public.{MARK} ();\n"
TOLD: Final = (
    "A restore of this database was broken off before its end. Type the same `manage.py restore` again, with --replace; "
    "until then nothing of the market may run on it."
)


def restore_is_unfinished() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [f"public.{MARK}"])
        return bool(cursor.fetchone()[0])


def remove_mark() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS public.{MARK}")


@register(Tags.database)
def check_restore(app_configs: Any, databases: Sequence[str] | None = None, **_more: Any) -> list[CheckMessage]:
    """Refuse to run `migrate` while a restore is unfinished."""
    return [Error(TOLD, id="berth.E001")] if databases and restore_is_unfinished() else []
