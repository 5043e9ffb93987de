"""The rows of `make bench`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bench.frame import Limit, Row, Sample
from bench.relay import measure_relay
from bench.rents import rent_transactions
from bench.starts import docker_starts, simulated_starts

WAITERS = 10_000


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
)
