"""Timeouts for PostgreSQL and Redis by kind of process: pages must not wait as long as migrations."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured

from config.env import read_int, read_text


@dataclass(frozen=True)
class Timeouts:
    """Timeouts for PostgreSQL, in milliseconds unless the name says otherwise; 0 waits without limit."""

    connect_s: int
    statement: int
    lock: int
    idle_in_transaction: int


_BY_PROCESS: Final[Mapping[str, Timeouts]] = MappingProxyType(
    {
        "web": Timeouts(connect_s=3, statement=15_000, lock=3_000, idle_in_transaction=15_000),
        "jobs": Timeouts(connect_s=5, statement=110_000, lock=5_000, idle_in_transaction=120_000),  # a task has 120 s
        # manage.py: migrations, checks of the whole ledger
        "maintenance": Timeouts(connect_s=10, statement=0, lock=5_000, idle_in_transaction=600_000),
    }
)
_PROCESS: Final = "BERTH_PROCESS"


def connection_options() -> dict[str, Any]:
    """Return libpq's options for each connection of this process.

    Prepared statements (common.db.prepared) are planned once; with lists among their values PostgreSQL would plan
    them each time. A dead connection is noticed within a minute.
    """
    waits = _timeouts()
    server_options = {
        "plan_cache_mode": "force_generic_plan",
        "statement_timeout": waits.statement,
        "lock_timeout": waits.lock,
        "idle_in_transaction_session_timeout": waits.idle_in_transaction,
    }
    return {
        "options": " ".join(f"-c {name}={value}" for name, value in server_options.items()),
        "connect_timeout": waits.connect_s,
        "keepalives": 1,
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": 60_000,
    }


def broker_options() -> dict[str, Any]:
    """Return Redis' options as the broker, in seconds: jobs wait there, the web only leaves hints."""
    return {"socket_connect_timeout": 2, "socket_timeout": 2 if _process() == "web" else 10}


def _process() -> str:
    process = read_text(_PROCESS, "maintenance")
    if process not in _BY_PROCESS:
        raise ImproperlyConfigured(f"{_PROCESS} must be one of {', '.join(_BY_PROCESS)}, not {process!r}.")
    return process


def _timeouts() -> Timeouts:
    usual = _BY_PROCESS[_process()]
    return Timeouts(
        usual.connect_s,
        read_int("STATEMENT_TIMEOUT_MS", usual.statement),
        read_int("LOCK_TIMEOUT_MS", usual.lock),
        read_int("IDLE_TRANSACTION_TIMEOUT_MS", usual.idle_in_transaction),
    )
