"""Where a race test wants its rival: held up by a lock of this connection; or, for its control, by none."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet

from common.db.prepared import Prepared

PATIENCE_S = 30
# Other workers' databases are on the same server: only who waits for this very connection counts.
_WAITERS = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"


def wait_until_one_waits_for_us() -> None:
    """Until some other connection is held up by a lock that this one holds."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute(_WAITERS)
            (waiting,) = cursor.fetchone()
        if waiting:
            return
        time.sleep(0.005)
    raise AssertionError("nobody waits for this connection's locks")


def take_locks_down(
    monkeypatch: pytest.MonkeyPatch, unlocked: Callable[..., QuerySet[Any]] = lambda rows, **_: rows
) -> None:
    """No query locks or skips a row any more: `unlocked` stands for `select_for_update`, in prepared queries too.

    One that changes rows first locks none by its query, and has no other way to be asked: it stays as it is.
    """
    original = Prepared.all

    def unprepared(self: Prepared[Any], **values: object) -> list[Any]:
        return original(self, **values) if self._change else list(self._build(**values))

    monkeypatch.setattr(QuerySet, "select_for_update", unlocked)
    monkeypatch.setattr(Prepared, "all", unprepared)
