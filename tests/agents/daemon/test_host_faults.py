"""Faults of a host, provoked with real agents: it comes back too late, its clock jumps, all hosts come back at once."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from agents.daemon import wiring
from agents.daemon.control_plane.http_client import Backoff, Link, LinkError
from agents.daemon.lib.config import AgentConfig, load_or_make_key
from agents.protocol.messages import DesiredInstance, Report
from agents.protocol.version import SUPPORTED
from tests.agents.daemon.conftest import RunningAgent
from tests.agents.daemon.market import Market, renamed
from tests.agents.daemon.test_agent import simulation
from tests.agents.daemon.wrong_clock import wrong_clock

DAY = 86_400
HERD = 40
ROOT = Path(__file__).resolve().parents[3]


# -- it comes back, and what it ran was given up meanwhile


def test_fault_025_a_host_that_returns_removes_what_was_given_up_before_anything_else(
    market: Market, start_agent: Callable[[], RunningAgent], wanted: DesiredInstance
) -> None:
    """The GPU was leased to somebody else while it was away: the two never run at once, and the old fence opens nothing."""
    first = start_agent()
    market.want(wanted)
    market.until_phase(wanted.id, "running", 1)
    first.stop()
    other = replace(wanted, id="ab" * 16, ports=[(22, 20_001)])
    market.want(replace(wanted, run="gone", fence=2), other)
    before = len(market.reports)
    second = start_agent()
    market.until(lambda report: wanted.id in report.absent and any(row.phase == "running" for row in report.instances))
    for report in market.reports[before:]:
        running = {row.id for row in report.instances if row.phase == "running"}
        assert len(running) <= 1
        assert other.id not in running or wanted.id in report.absent
    assert {item.instance for item in simulation(second).containers()} == {other.id}
    market.want(wanted)  # a late order of the old lease
    market.want(renamed(other))
    market.until_phase(other.id, "running", 2)
    assert {item.instance for item in simulation(second).containers()} == {other.id}


# -- its clock jumps


@pytest.fixture
def clock_off(tmp_path: Path) -> Path:
    (tmp_path / "off").write_text("0")
    return tmp_path / "off"


@pytest.fixture
def agent_with_a_clock(
    tmp_path: Path, state: Path, config: AgentConfig, clock_off: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose wall clock is what the file says."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **wrong_clock(tmp_path, clock_off)}
    seen = subprocess.run(
        [sys.executable, "-c", "import time; print(time.time())"],
        env={**env, "CLOCK_OFF_FILE": str(_written(tmp_path / "probe", DAY))},
        capture_output=True,
        check=True,
    )
    assert float(seen.stdout) > time.time() + DAY / 2, "the clock is really shifted"
    process = subprocess.Popen([sys.executable, "-m", "agents.daemon", "run", "--state-dir", state], env=env)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def _written(path: Path, seconds: int) -> Path:
    path.write_text(str(seconds))
    return path


def test_fault_057_a_clock_that_jumps_a_day_changes_no_life_and_no_second(
    market: Market, agent_with_a_clock: subprocess.Popen[bytes], clock_off: Path, wanted: DesiredInstance
) -> None:
    begun = time.monotonic()
    market.report_interval_s = 0.5
    market.want(wanted)
    market.until_phase(wanted.id, "running", 1)
    current = wanted
    for off in (DAY, -DAY, 0):
        clock_off.write_text(str(off))
        reports = len(market.reports)
        market.until(lambda _, count=reports: len(market.reports) > count + 1)  # type: ignore[misc]  # a default for the closure
        for run in ("stopped", "running"):
            current = renamed(current, run=run) if run == "running" else replace(current, run=run)
            market.want(current)
            market.until_phase(wanted.id, run, current.generation)
    elapsed = time.monotonic() - begun
    assert market.refused == 0
    boots = {each.boot_id for each in market.envelopes}
    sequences = [each.sequence for each in market.envelopes]
    assert len(boots) == 1
    assert sequences == sorted(set(sequences)), "messages are counted, not dated"
    reported = [row for report in market.reports for row in report.instances]
    assert all(0 <= row.run_seconds <= elapsed for row in reported), (
        "no second more than really passed, whatever its clock says"
    )
    assert {row.phase for row in reported}.isdisjoint({"failed", "exited"})
    assert agent_with_a_clock.poll() is None


# -- all come back at once


def test_fault_102_a_herd_that_is_told_to_wait_comes_back_spread(market: Market, config: AgentConfig, state: Path) -> None:
    """The market starts anew and is busy: each of many agents waits as long as it says at least, none at the same moment."""
    market.trouble = ["503"] * HERD
    market.retry_after = "2"
    links = [Link(url=config.url, host_id=config.host_id, key=load_or_make_key(state)) for _ in range(HERD)]
    report = Report(agent_version="1", versions=list(SUPPORTED), facts=None)

    def refused(link: Link) -> float:
        with pytest.raises(LinkError) as caught:
            link.sync(report)
        return Backoff().next_delay(caught.value)

    with ThreadPoolExecutor(HERD) as herd:
        delays = sorted(herd.map(refused, links))
        assert delays[0] >= 2.0
        halves = sum(delay < 2.5 for delay in delays)
        assert 0 < halves < HERD, "spread over the whole second that the jitter gives"
        closest = max(sum(at <= delay < at + 0.1 for delay in delays) for at in delays)
        assert closest < HERD / 2, "no tenth of a second gets half of them"
        market.retry_after = ""
        assert all(state.instances == [] for state in herd.map(lambda link: link.sync(report), links))
    for link in links:
        with suppress(LinkError):
            link.close()
        link.close_waiting()


def test_fault_102_an_agent_that_was_refused_comes_back_by_itself(
    market: Market, config: AgentConfig, state: Path, wanted: DesiredInstance
) -> None:
    running = RunningAgent(wiring.build_agent(state, config))
    try:
        market.want(wanted)
        market.until_phase(wanted.id, "running", 1)
        market.retry_after = "1"
        market.trouble = ["503", "503"]
        started = time.monotonic()
        market.want(renamed(wanted))
        market.until_phase(wanted.id, "running", 2)
        assert time.monotonic() - started >= 1.0, "not before the market wants to hear of it"
    finally:
        running.stop()
