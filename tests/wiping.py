"""How a test with real transactions leaves its database: as migrations made it, without making every table anew."""

from importlib import import_module

from django.apps import apps
from django.db import connections, transaction
from django.test import TransactionTestCase
from psycopg2.sql import SQL, Identifier, Literal

# Django wipes these too, and asks the whole of its catalogues again for what belongs into them.
_KEPT = {"django_content_type", "auth_permission"}
# The only migration that puts rows into new tables; tests without real transactions expect them, whatever ran before.
_MIGRATION = import_module("storage.migrations.0001_squashed_0007_volume_moves")


def wipe_after_each_test() -> None:
    """TRUNCATE gives a hundred tables and their indexes new files: most of a second each time. Few of them have rows."""
    TransactionTestCase._fixture_teardown = _wipe_all  # type: ignore[attr-defined]  # there is no other door


def _wipe_all(case: TransactionTestCase) -> None:
    for alias in case._databases_names(include_mirrors=False):  # type: ignore[attr-defined]  # not in the stubs
        _wipe(alias)


def _wipe(alias: str) -> None:
    """A request that is still under way is waited for, as TRUNCATE would: so every table is locked, also empty ones."""
    connection = connections[alias]
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    tables = sorted(set(names) - _KEPT)
    questions = [SQL("SELECT {} WHERE EXISTS (SELECT FROM {})").format(Literal(name), Identifier(name)) for name in tables]
    with transaction.atomic(using=alias), connection.cursor() as cursor:
        cursor.execute("SET LOCAL ROLE NONE")  # the market itself could wipe nothing
        cursor.execute(SQL("LOCK TABLE {}").format(SQL(", ").join(map(Identifier, tables))))
        cursor.execute("SET LOCAL session_replication_role = replica")  # no trigger refuses, none leaves a trace
        cursor.execute(SQL(" UNION ALL ").join(questions))
        for (name,) in cursor.fetchall():
            cursor.execute(SQL("DELETE FROM {}").format(Identifier(name)))
        _MIGRATION.add_official_image(apps, None)
