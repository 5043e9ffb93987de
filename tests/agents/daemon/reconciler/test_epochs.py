"""The market goes on from a backup: an agent agrees to the new epoch, keeps what is unknown, and takes no older word."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agents.daemon.engine.simulated import SimulatedRuntime
from agents.daemon.lib.config import AgentConfig
from agents.daemon.lib.journal import Journal
from agents.protocol.messages import DesiredInstance, Report
from tests.agents.daemon.conftest import RunningAgent
from tests.agents.daemon.market import Market, renamed
from tests.waiting import wait_until

Start = Callable[[], RunningAgent]
EPOCH = 1_790_000_000


def containers(running: RunningAgent) -> dict[str, str]:
    runtime = running.agent.parts.runtime
    assert isinstance(runtime, SimulatedRuntime)
    return {item.instance: item.status for item in runtime.containers()}


def restore(market: Market, *known: DesiredInstance, epoch: int = EPOCH) -> None:
    """The market's database is an older one: it knows these instances, as they were."""
    with market.changed:
        market.desired, market.epoch = {item.id: item for item in known}, epoch
    market.want()


def until_agreed(market: Market, epoch: int = EPOCH) -> Report:
    """The report in which the agent says what it holds, for the first time in this epoch."""
    market.until(lambda report: report.epoch == epoch)
    return next(report for report in market.reports if report.epoch == epoch)


def test_fault_082_lower_fences_of_a_new_epoch_are_taken_once(
    market: Market, start_agent: Start, wanted: DesiredInstance
) -> None:
    """Fence 6 and generation 8 here, 5 and 6 in the backup: without an epoch that is refused for ever."""
    start_agent()
    late = replace(wanted, fence=6, generation=8)
    market.want(late)
    market.until_phase(wanted.id, "running", 8)
    market.want(replace(late, fence=5, generation=8, run="stopped"))  # no epoch: refused
    market.until(lambda report: report.epoch == 0 and len(market.waits) > 1)
    market.until_phase(wanted.id, "running", 8)
    restore(market, replace(late, fence=5, generation=8, run="stopped"))
    (held,) = until_agreed(market).holdings
    assert (held.id, held.generation, held.fence, held.run) == (wanted.id, 8, 6, "running")
    assert held.gpu_uuids == wanted.gpu_uuids
    market.until_phase(wanted.id, "stopped", 8)


def test_fault_082_what_the_market_does_not_know_is_kept_and_kept_from_running(
    market: Market, start_agent: Start, wanted: DesiredInstance
) -> None:
    assert market.facts is not None
    other = replace(wanted, id="b" * 32, gpu_uuids=[market.facts.gpus[1].uuid], ports=[(22, 20001)])
    running = start_agent()
    market.want(wanted, other)
    market.until_phase(wanted.id, "running")
    market.until_phase(other.id, "running")
    restore(market, replace(wanted, fence=1_000_001))
    held = {item.id for item in until_agreed(market).holdings}
    assert held == {wanted.id, other.id}
    wait_until("it is stopped", lambda: containers(running)[other.id] == "exited")
    market.want()
    last = market.until(lambda report: [item.id for item in report.holdings] == [other.id])
    assert containers(running)[wanted.id] == "running", "what the market knows goes on"
    assert last.foreign == [f"berth-{other.id}-1"]
    running.stop()
    runtime = running.agent.parts.runtime
    assert isinstance(runtime, SimulatedRuntime)
    (kept,) = runtime.containers(other.id)
    runtime.start(kept.id)  # somebody on the host
    again = start_agent()
    wait_until("it is stopped again", lambda: containers(again)[other.id] == "exited")
    market.want(replace(other, fence=2))  # it is known again after all: no quarantine any more
    market.until(lambda report: any(row.id == other.id for row in report.instances) and not report.holdings)
    assert not again.agent.parts.journal.entry(other.id).quarantined


def test_an_answer_of_an_older_epoch_is_refused_whatever_it_names(
    market: Market, start_agent: Start, wanted: DesiredInstance, caplog: pytest.LogCaptureFixture
) -> None:
    running = start_agent()
    market.want(wanted)
    market.until_phase(wanted.id, "running")
    restore(market, wanted)
    until_agreed(market)
    market.until_phase(wanted.id, "running")
    reports = len(market.reports)
    restore(market, replace(wanted, fence=9, generation=9, run="gone"), epoch=EPOCH - 1)
    market.until(lambda _: len(market.reports) > reports + 2)
    assert containers(running) == {wanted.id: "running"}
    assert f"of epoch {EPOCH - 1}, older than the accepted {EPOCH}" in caplog.text


def test_a_lost_journal_learns_the_epoch_anew(
    market: Market, start_agent: Start, wanted: DesiredInstance, state: Path
) -> None:
    first = start_agent()
    market.want(wanted)
    market.until_phase(wanted.id, "running")
    restore(market, replace(wanted, fence=1_000_001))
    until_agreed(market)
    first.stop()
    first.agent.parts.journal.close()
    for file in state.glob("journal*"):
        file.unlink()
    with market.changed:
        market.reports.clear()
    again = start_agent()
    (held,) = until_agreed(market).holdings
    assert (held.id, held.fence, held.run) == (wanted.id, 1, "running"), "by the engine's labels alone"
    market.until_phase(wanted.id, "running")
    assert again.agent.parts.journal.epoch == EPOCH
    assert containers(again) == {wanted.id: "running"}


def test_the_epoch_outlives_the_agent_and_is_written_after_what_it_brought(state: Path, config: AgentConfig) -> None:
    journal = Journal(state / "other")
    journal.record({"a" * 32: journal.entry("x")}, epoch=EPOCH)
    again = Journal(state / "other")
    assert again.epoch == EPOCH and set(again.entries()) == {"a" * 32}
    lines = (state / "other").read_bytes().rstrip(b"\0").splitlines()
    assert b'"id":"epoch"' in lines[-1]


def test_a_market_of_before_epochs_is_followed_as_ever(market: Market, start_agent: Start, wanted: DesiredInstance) -> None:
    start_agent()
    restore(market, wanted)
    until_agreed(market)
    market.epoch = None
    market.want(renamed(wanted, fence=2))
    market.until_phase(wanted.id, "running", 2)
