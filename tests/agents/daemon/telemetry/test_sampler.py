"""Samples are differences of counters, and no traffic or work is lost or counted twice."""

from dataclasses import replace

import pytest

from agents.daemon.disks.loop_disks import SimulatedDisks
from agents.daemon.engine.interface import Container, Usage
from agents.daemon.engine.simulated import SimulatedRuntime
from agents.daemon.gpu.nvml import SimulatedProbe
from agents.daemon.telemetry.sampler import Telemetry

ID = "a" * 32
RUNNING = Container("c", ID, 1, "running", "s", (), "t1", run_seconds=10.0)


class Meter(SimulatedRuntime):
    """Counters as the test sets them."""

    def __init__(self) -> None:
        self.now: Usage | None = Usage(10**9, 100, 1000, 500)

    def usage(self, container: Container) -> Usage | None:
        return self.now


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def meter() -> Meter:
    return Meter()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def telemetry(meter: Meter, clock: Clock) -> Telemetry:
    made = Telemetry(meter, SimulatedDisks(), SimulatedProbe("", "s"), clock)
    clock.now += 10
    return made


def test_the_first_sample_counts_from_the_start(telemetry: Telemetry) -> None:
    sample = telemetry.sample([RUNNING])[ID]
    assert (sample.cpu_pct, sample.ram_mb, sample.rx_bytes, sample.tx_bytes) == (10.0, 100, 1000, 500)


def test_the_next_counts_from_the_last_one_that_arrived(telemetry: Telemetry, meter: Meter, clock: Clock) -> None:
    telemetry.sample([RUNNING])
    telemetry.keep()
    clock.now += 10
    meter.now = Usage(6 * 10**9, 100, 3000, 500)
    lost = telemetry.sample([RUNNING])[ID]
    assert (lost.cpu_pct, lost.rx_bytes) == (50.0, 2000)
    clock.now += 10
    meter.now = Usage(11 * 10**9, 100, 3500, 500)
    measured = telemetry.sample([RUNNING])[ID]
    assert (measured.cpu_pct, measured.rx_bytes) == (50.0, 2500), "what the lost report had is in this one"


def test_a_new_start_begins_at_zero(telemetry: Telemetry, meter: Meter, clock: Clock) -> None:
    telemetry.sample([RUNNING])
    telemetry.keep()
    clock.now += 10
    meter.now = Usage(2 * 10**8, 50, 10, 10)
    sample = telemetry.sample([replace(RUNNING, started_at="t2", run_seconds=1.0)])[ID]
    assert (sample.cpu_pct, sample.rx_bytes) == (20.0, 10)


def test_not_too_often(telemetry: Telemetry, clock: Clock) -> None:
    assert telemetry.sample([RUNNING])
    telemetry.keep()
    clock.now += 1
    assert telemetry.sample([RUNNING]) == {}


def test_a_container_that_ended_meanwhile_has_none(telemetry: Telemetry, meter: Meter) -> None:
    meter.now = None
    assert telemetry.sample([RUNNING]) == {}
