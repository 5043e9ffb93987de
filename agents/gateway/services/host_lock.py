"""Per-host lock for syncs, so that no older report is applied after a newer one (fault 18)."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import connection

from common.errors import Busy

_KEY_BITS = 64


@contextmanager
def take_turn(host_id: UUID) -> Iterator[None]:
    """Hold the host's lock for a sync, or raise Busy at once: a web worker must not wait for another.

    A report is applied in several short transactions, hence an advisory lock of the database session. It ends with
    the block, and with the session when this process dies. (A pooler in transaction mode would break it.)

    Raises:
        Busy: Another sync of this host is being handled.
    """
    key = int.from_bytes(host_id.bytes[-_KEY_BITS // 8 :], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [key])
        if not cursor.fetchone()[0]:
            raise Busy("The last sync of this host is still being processed.")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [key])
