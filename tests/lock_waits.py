"""Where a race test wants its rival: held up by a lock of this connection."""

import time

from django.db import connection

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
