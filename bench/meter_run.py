"""One step of the meters' benchmarks in its own process, on DATABASE_URL; prints its result as JSON."""

import json
import logging
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import django
import psutil

django.setup()

from django.db import connection, transaction  # noqa: E402  (Django must be set up first)

from bench.meter_loop import settle_each  # noqa: E402
from bench.meter_seed import DEPLETE, FLOOR, GUARDED_FLOOR, GUARDED_TABLES, HOURS, SEED, TABLES  # noqa: E402
from billing.audit.selectors import ledger_findings  # noqa: E402
from billing.constants import INSTANCE_SOURCE  # noqa: E402
from billing.metering.costs import exhausted_sources  # noqa: E402
from billing.metering.meters import close_meter  # noqa: E402
from billing.metering.settle import extend_holds, settle_meters  # noqa: E402
from common.db.transactions import use_case  # noqa: E402

_OPENED = datetime(2026, 1, 1, tzinfo=UTC)
_LOOPED = 300
_TOLD = 3
_WRITTEN = "SELECT sum(last_value) FROM pg_sequences WHERE sequencename LIKE 'billing\\_%%'"


def seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def cpu() -> float:
    """Return the CPU seconds of this process and its PostgreSQL, without those of other programs."""
    server = psutil.Process(connection.connection.get_backend_pid()).parent()
    assert server is not None
    while True:
        with suppress(psutil.NoSuchProcess):  # a session has just ended: the server counts it at the next attempt
            running = [each.cpu_times() for each in server.children()]
            ended = server.cpu_times()
            own = time.process_time() + ended.children_user + ended.children_system
            return own + sum(each.user + each.system for each in running)


def rows(query: str, **values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return list(cursor.fetchall())


def vacuum() -> None:
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"VACUUM ANALYZE {table}")
        cursor.execute("CHECKPOINT")


def seed(meters: int) -> dict[str, Any]:
    """Seed the database; settle the first meters one by one, and an hour of all others as a warm-up."""
    with connection.cursor() as cursor:
        for statement in SEED:
            cursor.execute(statement, {"meters": meters, "hours": HOURS, "opened": _OPENED})
    vacuum()
    first = [row[0] for row in rows("SELECT id FROM billing_meter ORDER BY id LIMIT %(looped)s", looped=_LOOPED)]
    before = cpu()
    looped = seconds(partial(settle_each, first))
    used = cpu() - before
    settle_meters(now=hour(1))
    return {"loop": looped / len(first), "loop cpu": used / len(first)}


def hour(number: int) -> datetime:
    """Return when every meter has run its first `number` hours."""
    return _OPENED + timedelta(hours=number + 1)


def settled_hours() -> int:
    ((settled,),) = rows("SELECT min(settled_until - opened_at) FROM billing_meter WHERE NOT is_finished")
    return int(settled / timedelta(hours=1))


def floor(statement: str, now: datetime) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL work_mem = '256MB'")
        if statement == FLOOR:
            for table in GUARDED_TABLES:
                cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        cursor.execute(statement, {"now": now})
        if statement == FLOOR:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # a table with deferred checks cannot be altered
            for table in GUARDED_TABLES:
                cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")


def close() -> dict[str, Any]:
    """Settle one hour by the market, one by hand, one by hand with all triggers on; then repeat ours."""
    begun = settled_hours()
    works: dict[str, Callable[[datetime], Any]] = {
        "ours": lambda now: settle_meters(now=now),
        "floor": partial(floor, FLOOR),
        "walled": partial(floor, GUARDED_FLOOR),
    }
    names = list(works)
    turn = begun % len(names)
    took, used = {}, {}
    for number, name in enumerate([*names[turn:], *names[:turn]], begun + 1):
        vacuum()
        before = cpu()
        took[name] = seconds(partial(works[name], hour(number)))
        used[f"{name} cpu"] = cpu() - before
    written = rows(_WRITTEN)[0][0]
    replay = settle_meters(now=hour(begun + len(names)))
    return {**took, **used, "replayed": replay + int(rows(_WRITTEN)[0][0] - written)}


def deplete() -> dict[str, Any]:
    """Exhaust ten wallets; find them by renewals and search, and close and settle all their sources."""
    vacuum()
    now = hour(settled_hours() + 1)
    with connection.cursor() as cursor:
        cursor.execute(DEPLETE, {"now": now})
    closed = 0

    def find_and_settle() -> None:
        nonlocal closed
        extend_holds(now=now)
        for source_id in exhausted_sources(source_kind=INSTANCE_SOURCE, now=now):
            with use_case():
                close_meter(source_kind=INSTANCE_SOURCE, source_id=source_id)
            closed += 1

    took = seconds(find_and_settle)
    return {"took": took, "closed": closed}


def verify() -> dict[str, Any]:
    found = [str(finding) for finding in ledger_findings()]
    return {"findings": len(found), "first": found[:_TOLD]}


if __name__ == "__main__":
    logging.disable(logging.INFO)
    steps: dict[str, Callable[..., dict[str, Any]]] = {"seed": seed, "close": close, "deplete": deplete, "verify": verify}
    print(json.dumps(steps[sys.argv[1]](*map(int, sys.argv[2:]))))
