"""Rows of `make bench`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from bench import market, market_churn, meters
from bench.frame import Limit, Row, Sample
from bench.relay import measure_relay
from bench.rents import rent_transactions
from bench.starts import docker_starts, simulated_starts

WAITERS = 10_000
METER_NOTES = {"‰ of the loop": 2, "written by a replay": 0}
SIZES = {"10k": 10_000, "100k": 100_000, "1m": 1_000_000}


@contextmanager
def relay_wakes() -> Iterator[Callable[[], Sample]]:
    def once() -> Sample:
        figures = measure_relay(waiters=WAITERS)
        notes = {"p99": figures.wake_p99, "KB a waiter": figures.kb_per_waiter, "lost": float(figures.lost)}
        return Sample(figures.wake_p50, figures.redis_floor_p50, notes)

    yield once


ROWS = (
    Row(
        "start_simulated",
        "ms p50",
        "order → seen running, whole stack over HTTP, simulated runtime; floor: as many bare requests",
        simulated_starts,
        Limit(absolute=20),
    ),
    Row(
        "start_docker",
        "ms p50",
        "order → seen running less the wait for SSH, real container; floor: the engine's own network + create + start",
        docker_starts,
        Limit(of_floor=1.5),
    ),
    Row(
        "rent_tx",
        "ms p50",
        "one order's transaction, without HTTP; floor: its locks and writes in bare SQL",
        rent_transactions,
    ),
    Row(
        "relay_wake",
        "ms p50",
        f"a change → the waiting agent's answer, {WAITERS:,} agents waiting; floor: a bare Redis subscriber",
        relay_wakes,
    ),
    *(
        Row(
            f"market_page_{size}",
            "ms p50",
            f"GET /offers, {offers:,} offers, 40 % live, 400 mixes of filters; floor: two-step SQL without HTTP",
            partial(market.pages, offers),
            Limit(of_floor=3, notes={"p99 × floor": 1.5}),
        )
        for size, offers in SIZES.items()
    ),
    *(
        Row(
            f"market_facets_{size}",
            "ms p50",
            f"page, total, 12 facets with lowest prices, {offers:,} offers; floor: the same by bare numpy",
            partial(market.facets, offers),
            Limit(of_floor=4, notes={"p99 × floor": 4}),
        )
        for size, offers in SIZES.items()
    ),
    Row(
        "market_churn",
        "ms p99",
        "GET /offers while 5 % of 100,000 offers change in 5 s; floor: while nothing changes",
        partial(market_churn.churn, SIZES["100k"]),
        Limit(of_floor=2),
        repeats=7,  # a p99 over so short a time varies by a third
    ),
    Row(
        "market_deep",
        "ms p50",
        f"page {market.DEEP + 1} of GET /offers, 100,000 offers; floor: the first page",
        partial(market.deep_pages, SIZES["100k"]),
        Limit(of_floor=1.2),
    ),
    Row(
        "market_html",
        "ms p50",
        "GET /market, 100,000 offers; floor: GET /offers of the same searches",
        partial(market.html, SIZES["100k"]),
    ),
    *(
        Row(
            f"meter_close_{size}",
            "ms",
            f"an hour of {running:,} running meters charged; floor: one statement by hand, the same rows, no walls",
            partial(meters.close_out, running, None if size == "10k" else SIZES["10k"]),
            Limit(of_floor=1.3, notes=METER_NOTES | ({} if size == "10k" else {"exponent": 1.05})),
        )
        for size, running in SIZES.items()
    ),
    Row(
        "meter_live",
        "ms",
        "10 wallets that run dry among 1,000,000 running meters found, their meters closed; floor: among 10,000",
        partial(meters.depleted, SIZES["1m"], SIZES["10k"]),
        Limit(of_floor=10),
    ),
)
