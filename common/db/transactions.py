"""Transactions of use cases: durable and outermost.

Every session waits for a lock for a limited time (settings).
"""

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
    """Run one use case in a transaction, which must be the outermost one.

    Inside `joining()`, it joins that transaction.
    """
    outermost = not _joined.get()
    # An outermost transaction has no savepoint either way; inside a test's transaction, only this part is rolled
    # back.
    with transaction.atomic(durable=outermost, savepoint=outermost):
        yield


@contextmanager
def joining() -> Iterator[None]:
    """Open an outermost transaction that use cases called inside it join; idempotent responses need it."""
    with transaction.atomic(durable=True):
        token = _joined.set(True)
        try:
            yield
        finally:
            _joined.reset(token)


@contextmanager
def statements_within(most: timedelta) -> Iterator[None]:
    """Open a transaction whose statements may take up to `most`, whatever the connection's limit is."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('statement_timeout')")
        (usual,) = cursor.fetchone()
        cursor.execute(_LIMIT, [str(max(1, int(most.total_seconds() * 1000)))])
        yield
        cursor.execute(_LIMIT, [usual])  # otherwise it would stay for the rest of an enclosing transaction


@contextmanager
def exclusive_lock(lock: int) -> Iterator[bool]:
    """Take the advisory lock with this number, and provide whether it was free.

    The lock belongs to the connection: a worker that dies releases it. It keeps no transaction open. (A pooler in
    transaction mode would break it.)
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
