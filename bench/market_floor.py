"""Floors of the market's rows, in one process: two-step SQL pages and numpy columns; prints JSON."""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import django
import numpy as np
import psycopg2
from numpy.typing import NDArray

django.setup()

from django.http import QueryDict  # noqa: E402  (Django must be set up first)

from bench.market_mixes import PAGE, PASSES, Mix, mixes  # noqa: E402
from common import clock  # noqa: E402
from marketplace.gpu_catalogue.catalogue import by_slug  # noqa: E402
from marketplace.pricing.offer_requirements import NO_IMAGE  # noqa: E402
from marketplace.search.index.executor import SearchExecution  # noqa: E402
from marketplace.search.index.facets import facets_of  # noqa: E402
from marketplace.search.index.pagination import page_of  # noqa: E402
from marketplace.search.index.snapshot import open_snapshot  # noqa: E402
from marketplace.web.search.language.query_string import parse_params  # noqa: E402

_TWO_STEPS: Final = """
SELECT o.id, o.host_id, o.host_name, o.gpu_model, o.region, o.price_micros, o.gpu_free, o.gpu_total, o.vram_mb, o.cuda,
       o.driver, o.disk_kind, o.disk_free_gb, o.reliability_ppm, o.verified, o.cpu_model, o.version
  FROM (SELECT id, price_micros FROM marketplace_offer WHERE {where} ORDER BY price_micros, id LIMIT {page}) AS found
  JOIN marketplace_offer o ON o.id = found.id
 ORDER BY found.price_micros, found.id
"""
_COLUMNS: Final = (
    *("price_micros", "gpu_free", "vram_mb", "reliability_ppm", "disk_read_mbps", "net_down_mbps", "cpu_millis_per_gpu"),
    "ram_mb_per_gpu",
)
_CODES: Final = ("gpu_model", "region", "disk_kind", "cuda", "verified")
_MORE: Final = ("runtime", "simulated", "nvlink", "vram_mb")
_GPUS_AT_MOST: Final = 8
_DEAREST: Final = np.iinfo(np.int32).max
Figures = dict[str, float]


def connect() -> Any:
    connection = psycopg2.connect(os.environ["DATABASE_URL"], options="-c jit=off -c max_parallel_workers_per_gather=0")
    connection.autocommit = True
    return connection


def sql_pages(cursor: Any, asked: Sequence[Mix]) -> Figures:
    def page(mix: Mix) -> None:
        cursor.execute(_TWO_STEPS.format(where=mix.condition, page=PAGE), mix.arguments)
        cursor.fetchall()

    timed(asked, page, passes=1)
    return timed(asked, page)


class NumpyBaseline:
    """Live offers in price order, with one array per column: page, total and facets, nothing else.

    `counts` is the least that could be called facets: five counts. `answer` computes the same as the market: twelve
    facets, each with the lowest price of every choice.
    """

    def __init__(self, cursor: Any) -> None:
        names = tuple(dict.fromkeys((*_COLUMNS, *_CODES, *_MORE)))
        cursor.execute(
            f"SELECT {', '.join(names)} FROM marketplace_offer WHERE gpu_free > 0 ORDER BY price_micros, id"  # noqa: S608
        )
        columns = dict(zip(names, zip(*cursor.fetchall(), strict=True), strict=True))
        self.numbers = {name: np.array([-1 if v is None else v for v in columns[name]], np.int32) for name in _COLUMNS}
        self.words = {name: sorted(set(columns[name])) for name in _CODES}
        self.codes = {
            name: np.array([self.words[name].index(value) for value in columns[name]], np.uint8) for name in _CODES
        }
        self.size = len(self.codes["verified"])
        self.facets = {name: (name, codes, len(self.words[name])) for name, codes in self.codes.items()}
        self.facets |= {name: (name, *encode(columns[name])) for name in _MORE}
        for name in ("series", "architecture"):
            self.facets[name] = ("", *encode([getattr(by_slug(slug), name) for slug in columns["gpu_model"]]))
        free = np.minimum(self.numbers["gpu_free"], _GPUS_AT_MOST).astype(np.uint8)
        self.facets["count"] = ("gpu_free", free, _GPUS_AT_MOST + 1)

    def counts(self, mix: Mix) -> int:
        """Compute the counts; as in the market, each facet ignores its own filter."""
        asked = self.asked(mix)
        found = self.fits(list(asked.values()))
        counts = []
        for name, codes in self.codes.items():
            rows = self.fits([mask for column, mask in asked.items() if column != name]) if name in asked else found
            counts.append(np.bincount(codes[rows], minlength=len(self.words[name])))
        return len(found) + len(found[:PAGE]) + len(counts)

    def answer(self, mix: Mix) -> int:
        """Compute all facets of the market, with their lowest prices."""
        asked, prices = self.asked(mix), self.numbers["price_micros"]
        found = self.fits(list(asked.values()))
        given = []
        for name, codes, size in self.facets.values():
            rows = self.fits([mask for column, mask in asked.items() if column != name]) if name in asked else found
            chosen, lows = codes[rows], np.full(size, _DEAREST, np.int32)
            np.minimum.at(lows, chosen, prices[rows])
            given.append((np.bincount(chosen, minlength=size).tolist(), lows.tolist()))
        return len(found) + len(found[:PAGE]) + len(given)

    def asked(self, mix: Mix) -> dict[str, NDArray[np.bool_]]:
        return {
            sql.split()[0]: self.mask(sql.split()[0], sql.split()[1], argument)
            for sql, argument in zip(mix.where[1:], mix.arguments, strict=True)
        }

    def fits(self, masks: list[NDArray[np.bool_]]) -> NDArray[np.intp]:
        return np.flatnonzero(np.logical_and.reduce(masks)) if masks else np.arange(self.size)

    def mask(self, column: str, sign: str, argument: Any) -> NDArray[np.bool_]:
        if column in self.codes:
            wanted = [self.words[column].index(word) for word in np.atleast_1d(argument).tolist()]
            fits: NDArray[np.bool_] = np.logical_or.reduce([self.codes[column] == code for code in wanted])
            return fits
        values = self.numbers[column]
        within: NDArray[np.bool_] = values >= argument if sign == ">=" else values <= argument
        return within


def encode(values: Sequence[Any]) -> tuple[NDArray[np.uint8], int]:
    """Return each value's index among the distinct ones, and their number."""
    words, places = np.unique(np.array(values), return_inverse=True)
    return places.astype(np.uint8), len(words)


def timed(asked: Sequence[Mix], work: Callable[[Mix], object], passes: int = PASSES) -> Figures:
    """Return the milliseconds at the 50th and 99th percentile of the mixes, each by its median pass."""
    times: list[list[float]] = [[] for _ in asked]
    for _ in range(passes):
        for own, mix in zip(times, asked, strict=True):
            began = time.perf_counter()
            work(mix)
            own.append((time.perf_counter() - began) * 1_000)
    medians = sorted(statistics.median(own) for own in times)
    return {"p50": medians[len(medians) // 2], "p99": medians[len(medians) * 99 // 100]}


def searches(asked: Sequence[Mix]) -> Figures:
    """Measure the market's own search on an up-to-date copy: page, total and twelve facets."""
    queries = {mix.address: parse_params(QueryDict(mix.address), image_needs=lambda _image: NO_IMAGE) for mix in asked}

    def search(mix: Mix) -> None:
        with open_snapshot() as store:
            found = SearchExecution(store, queries[mix.address], clock.now())
            page_of(found)
            facets_of(found)

    timed(asked, search, passes=1)  # sort orders are made at their first use
    return timed(asked, search)


if __name__ == "__main__":
    with connect().cursor() as cursor:
        found: dict[str, Figures] = {}
        if "sql" in sys.argv:
            found["sql"] = sql_pages(cursor, mixes())
        if "columns" in sys.argv:
            bare = NumpyBaseline(cursor)
            timed(mixes(), bare.answer, passes=1)
            found["counts"], found["bare"] = timed(mixes(), bare.counts), timed(mixes(), bare.answer)
            found["ours"] = searches(mixes())
    print(json.dumps(found))
