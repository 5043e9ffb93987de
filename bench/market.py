"""Benchmarks of the market: pages, facets, deep pages and HTML over real HTTP, with their floors."""

import http.client
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Final
from urllib.parse import urlsplit

import psutil
import psycopg2

from bench.frame import Sample
from bench.market_mixes import MIXES, PASSES, Mix, mixes
from bench.market_seed import FLOOR_INDEXES, seed_statements
from devserver.processes import WEB_MARKET
from tests.stack.harness import ROOT, Stack

DEEP: Final = 40  # pages
IDLE_S: Final = 5.0  # seconds between two samples after which the server may have closed the connection
_API: Final = "/api/v1/offers?"


@dataclass(frozen=True)
class Figures:
    """Milliseconds of many requests."""

    p50: float
    p99: float

    @classmethod
    def of(cls, times: list[float]) -> "Figures":
        times.sort()
        return cls(times[len(times) // 2], times[len(times) * 99 // 100])

    @classmethod
    def middle(cls, found: Sequence["Figures"]) -> "Figures":
        return cls(*(statistics.median(column) for column in zip(*map(astuple, found), strict=True)))


class Market:
    """A stack with so many offers, and one connection to it that stays open."""

    def __init__(self, stack: Stack, offers: int, indexes: Sequence[str]) -> None:
        self.stack, self.offers, self.asked = stack, offers, mixes()
        self.database = psycopg2.connect(stack.postgres.get_uri())
        self.database.autocommit = True
        with self.database.cursor() as cursor:
            for query, arguments in seed_statements(offers):
                cursor.execute(query, arguments or None)
            for index in indexes:
                cursor.execute(index)
            cursor.execute("VACUUM ANALYZE marketplace_offer")
        address = urlsplit(stack.url)
        self.connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
        self.asked_at = perf_counter()
        self.get("/api/v1/offers")

    def get(self, path: str) -> bytes:
        if perf_counter() - self.asked_at > IDLE_S:
            self.connection.close()  # the server may have closed it; the request opens another
        self.asked_at = perf_counter()
        self.connection.request("GET", path, headers={"Accept": "*/*"})
        response = self.connection.getresponse()
        body = response.read()
        if response.status != http.client.OK:
            raise AssertionError(f"{path}: {response.status} {body[:300]!r}")
        return body

    def pages(self, prefix: str = _API, asked: Sequence[Mix] | None = None) -> Figures:
        return self._pages(prefix, asked or self.asked, PASSES)

    def moments(self, rounds: int = PASSES) -> Figures:
        """Measure every request once per round, outliers included."""
        return Figures.middle([self.round() for _ in range(rounds)])

    def round(self) -> Figures:
        return self._pages(_API, self.asked, 1)

    def _pages(self, prefix: str, asked: Sequence[Mix], passes: int) -> Figures:
        times = [timed(partial(self.get, prefix + mix.address) for mix in asked) for _ in range(passes)]
        return Figures.of([statistics.median(own) for own in zip(*times, strict=True)])

    def floors(self, *which: str) -> dict[str, Figures]:
        command = [sys.executable, "-m", "bench.market_floor", *which]
        env = self.stack.env
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)  # noqa: S603 own command
        # The server closes a connection that was idle for this long; the next one may lead to another of its processes.
        self.connection.close()
        self.round()
        return {name: Figures(**each) for name, each in json.loads(done.stdout).items()}

    def web_mb(self) -> float:
        """Return the resident memory of the largest web process, in MiB."""
        parent = psutil.Process(self.stack.processes["web"].pid)
        return max(float(each.memory_info().rss) for each in parent.children(recursive=True)) / 2**20


def timed(works: Iterable[Callable[[], Any]]) -> list[float]:
    """Return the milliseconds of each call."""
    times = []
    for work in works:
        began = perf_counter()
        work()
        times.append((perf_counter() - began) * 1_000)
    return times


@contextmanager
def market_of(offers: int, indexes: Sequence[str] = FLOOR_INDEXES) -> Iterator[Market]:
    folder = Path(tempfile.mkdtemp(prefix="berth-bench-"))
    folder.chmod(0o755)  # PostgreSQL runs as a user of its own
    # as for the web processes of `make up`
    stack = Stack(folder, durable=True, settings=dict(WEB_MARKET))
    try:
        market = Market(stack.start(jobs=False), offers, indexes)
        market.moments(1)  # connections, caches, the first rendering of each page
        yield market
        market.connection.close()
        market.database.close()
    finally:
        stack.stop()


@contextmanager
def pages(offers: int) -> Iterator[Callable[[], Sample]]:
    """Measure GET /offers with 400 mixes of filters.

    Floor: two-step SQL over covering partial indexes, without HTTP.
    """
    with market_of(offers) as market:

        def once() -> Sample:
            floor, ours = market.floors("sql")["sql"], market.pages()
            notes = {"p99": ours.p99, "floor p99": floor.p99, "p99 × floor": ours.p99 / floor.p99, "web MB": market.web_mb()}
            return Sample(ours.p50, floor.p50, notes)

        yield once


@contextmanager
def facets(offers: int) -> Iterator[Callable[[], Sample]]:
    """Measure a page, the total and facets in a process that keeps its copy as a web process does.

    Floor: the same answer by plain numpy, from columns that are never updated.
    """
    with market_of(offers) as market:

        def once() -> Sample:
            found = market.floors("columns")
            floor, ours = found["bare"], found["ours"]
            over_http = market.pages("/api/v1/offers/facets?")
            notes = {
                "p99": ours.p99,
                "p99 × floor": ours.p99 / floor.p99,
                "× five bare counts": ours.p50 / found["counts"].p50,
                "HTTP p50": over_http.p50,
                "HTTP p99": over_http.p99,
            }
            return Sample(ours.p50, floor.p50, notes)

        yield once


@contextmanager
def deep_pages(offers: int) -> Iterator[Callable[[], Sample]]:
    """Measure the 40th page of a search; floor: its first page."""
    with market_of(offers) as market:
        path = _API
        for _ in range(DEEP):
            link = urlsplit(json.loads(market.get(path))["next"])
            path = f"{link.path}?{link.query}"

        def once() -> Sample:
            times = [timed(partial(market.get, each) for each in (_API, path)) for _ in range(MIXES)]
            shallow, deep = (statistics.median(column) for column in zip(*times, strict=True))
            return Sample(deep, shallow)

        yield once


@contextmanager
def html(offers: int) -> Iterator[Callable[[], Sample]]:
    """Measure the HTML page of the market; floor: the API's page of the same search."""
    with market_of(offers) as market:
        asked = market.asked[: MIXES // 10]
        market.pages("/market?", asked)

        def once() -> Sample:
            floor, ours = market.pages(asked=asked), market.pages("/market?", asked)
            return Sample(ours.p50, floor.p50, {"p99": ours.p99})

        yield once
