"""Whom a test is for PostgreSQL: the role that the market works with, or for a moment the owner of the tables."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from tests.services_plugin import APP_ROLE

_TEST_DATABASE = "test_"


def work_as_the_market() -> None:
    """Each connection to a test database is the market's role: a right that is missing fails the test that needs it."""
    connection_created.connect(_become_the_market, dispatch_uid="tests.roles")


@contextmanager
def as_owner() -> Iterator[None]:
    """What the market itself may never do: change tables, switch triggers off, wipe."""
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")
        try:
            yield
        finally:
            if not connection.needs_rollback:  # a transaction that failed has its rollback give the role back
                cursor.execute(f"SET ROLE {APP_ROLE}")


def analyze() -> None:
    """Gather the statistics that autovacuum gathers of a market: it sees nothing of a test's transaction, and comes late
    to tables that fill within seconds. Without them PostgreSQL plans for empty tables: one audit takes minutes.
    """
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _become_the_market(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    if str(connection.settings_dict["NAME"]).startswith(_TEST_DATABASE):
        with connection.connection.cursor() as cursor:  # the driver's: no test counts it
            cursor.execute(f"SET ROLE {APP_ROLE}")
