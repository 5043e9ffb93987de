"""Transactions of use cases: durable and outermost. Every session waits for a lock for a bounded time (settings)."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import Final

from django.db import connection, transaction

_LIMIT: Final = "SELECT set_config('statement_timeout', %s, true)"
_joined: ContextVar[bool] = ContextVar("joined", default=False)


@contextmanager
def use_case() -> Iterator[None]:
    """The transaction of one use case. It must be the outermost one, unless `joining()` has opened it to be joined."""
    outermost = not _joined.get()
    # An outermost transaction has no savepoint either way; inside a test's transaction it is rolled back alone.
    with transaction.atomic(durable=outermost, savepoint=outermost):
        yield


@contextmanager
def joining() -> Iterator[None]:
    """An outermost transaction that the use cases called inside it become part of (idempotent replies need that)."""
    with transaction.atomic(durable=True):
        token = _joined.set(True)
        try:
            yield
        finally:
            _joined.reset(token)


@contextmanager
def statements_within(most: timedelta) -> Iterator[None]:
    """A transaction whose statements may take so long, whatever the connection's limit is."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('statement_timeout')")
        (usual,) = cursor.fetchone()
        cursor.execute(_LIMIT, [str(max(1, int(most.total_seconds() * 1000)))])
        yield
        cursor.execute(_LIMIT, [usual])  # inside a transaction that goes on it would stay


@contextmanager
def only_one(lock: int) -> Iterator[bool]:
    """Whether nobody else is inside with this number. The lock is the connection's: a worker that dies gives it back.

    No transaction is open because of it. (A pooler in transaction mode would break it.)
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [lock])
        (ours,) = cursor.fetchone()
    try:
        yield ours
    finally:
        if ours:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [lock])
