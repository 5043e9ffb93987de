"""The loop against a control plane over real HTTP: speed, and everything that gets lost, doubled or late."""

import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agents.daemon import agent as loop_module
from agents.daemon.engine.interface import Container, EngineSilent
from agents.daemon.engine.simulated import SimulatedRuntime
from agents.daemon.lib.journal import EndedBy
from agents.daemon.self_test.runner import SelfTester
from agents.daemon.telemetry import sampler as telemetry_module
from agents.protocol.messages import Check, DesiredInstance, Report
from tests.agents.daemon.conftest import RunningAgent
from tests.agents.daemon.market import Market, renamed

Start = Callable[[], RunningAgent]


def simulation(running: RunningAgent) -> SimulatedRuntime:
    runtime = running.agent.parts.runtime
    assert isinstance(runtime, SimulatedRuntime)
    return runtime


def settle(market: Market) -> None:
    """Until the host waits at the relay for the newest version."""
    with market.changed:
        assert market.changed.wait_for(lambda: bool(market.waits) and market.waits[-1][0] == market.version, 10)


def next_report(market: Market) -> Report:
    """The one that a wake-up brings."""
    reports = len(market.reports)
    market.want()
    return market.until(lambda _: len(market.reports) > reports)


def test_order_to_running_costs_a_few_milliseconds(market: Market, start_agent: Start, wanted: DesiredInstance) -> None:
    start_agent()
    spans = []
    for number in range(20):
        settle(market)
        order = replace(wanted, id=f"{number:032x}", gpu_uuids=[], ports=[(22, 20000 + number)])
        begun = market.want(order)
        market.until_phase(order.id, "running")
        spans.append(market.arrived_at[-1] - begun)
    print(f"order → running: p50 {statistics.median(spans) * 1000:.1f} ms, worst {max(spans) * 1000:.1f} ms")
    assert statistics.median(spans) < 0.25, "a wake-up, not an interval"


def test_a_whole_life(market: Market, start_agent: Start, wanted: DesiredInstance) -> None:
    start_agent()
    market.want(wanted)
    row = market.until_phase(wanted.id, "running", 1)
    assert row.gpu_uuids == wanted.gpu_uuids
    market.want(replace(wanted, run="stopped"))
    market.until_phase(wanted.id, "stopped", 1)
    assert market.facts is not None
    moved = renamed(wanted, fence=2, gpu_uuids=[market.facts.gpus[3].uuid])
    market.want(moved)
    assert market.until_phase(wanted.id, "running", 2).gpu_uuids == moved.gpu_uuids
    market.want(replace(moved, run="gone"))
    market.until_absent(wanted.id)
    market.forget(wanted.id)
    report = market.until(lambda report: not report.absent)
    assert not report.instances and not report.foreign


def test_fault_016_a_lost_answer_is_repaired_by_the_next_exchange(
    market: Market, start_agent: Start, wanted: DesiredInstance
) -> None:
    start_agent()
    settle(market)
    market.trouble = ["drop", "drop", "503", "500"]
    market.want(wanted)
    market.until_phase(wanted.id, "running", 1)
    assert [item.instance for item in _containers(market, start_agent)] == [wanted.id]


def _containers(market: Market, start_agent: Start) -> list[Container]:
    """As a second look at the same state folder sees them."""
    return simulation(start_agent()).containers()


def test_the_same_state_told_twice_changes_nothing(market: Market, start_agent: Start, wanted: DesiredInstance) -> None:
    running = start_agent()
    market.want(wanted)
    first = market.until_phase(wanted.id, "running", 1)
    before = simulation(running).containers()[0].started_at
    for _ in range(3):
        reports = len(market.reports)
        market.want(wanted)
        market.until(lambda _, count=reports: len(market.reports) > count)  # type: ignore[misc]  # a default for the closure
    assert market.until_phase(wanted.id, "running", 1).container == first.container
    assert simulation(running).containers()[0].started_at == before


@pytest.mark.parametrize("stale", [{"fence": 1, "generation": 2}, {"fence": 2, "generation": 1}])
def test_fault_019_stale_state_is_refused(
    market: Market, start_agent: Start, wanted: DesiredInstance, stale: dict[str, Any]
) -> None:
    start_agent()
    fresh = replace(wanted, fence=2, generation=2)
    market.want(fresh)
    market.until_phase(wanted.id, "running", 2)
    market.want(replace(wanted, run="gone", **stale))
    settle(market)
    report = next_report(market)
    assert report.instances[0].phase == "running"
    assert not report.foreign and not report.absent


def test_fault_019_also_after_a_restart(market: Market, start_agent: Start, wanted: DesiredInstance) -> None:
    first = start_agent()
    market.want(replace(wanted, fence=5, generation=5))
    market.until_phase(wanted.id, "running", 5)
    first.stop()
    market.want(replace(wanted, fence=4, generation=5, run="gone"))
    start_agent()
    settle(market)
    assert next_report(market).instances[0].phase == "running"


def test_a_restarted_agent_takes_over_what_runs(market: Market, start_agent: Start, wanted: DesiredInstance) -> None:
    first = start_agent()
    market.want(wanted)
    row = market.until_phase(wanted.id, "running", 1)
    first.stop()
    reports = len(market.reports)
    start_agent()
    market.until(lambda _: len(market.reports) > reports)
    reported = market.reports[reports]
    assert [(item.phase, item.container) for item in reported.instances] == [("running", row.container)]
    assert reported.facts is not None, "a new boot tells its facts"
    assert not reported.foreign
    boots = [item.boot_id for item in market.envelopes]
    assert len(set(boots)) == 2
    assert market.envelopes[reports].sequence == 1


def test_facts_are_told_once_and_when_asked(market: Market, start_agent: Start, wanted: DesiredInstance) -> None:
    start_agent()
    settle(market)
    assert market.reports[0].facts is not None
    assert all(report.facts is None for report in market.reports[1:])
    market.need_facts = True
    reports = len(market.reports)
    market.want()
    market.until(lambda report: report.facts is not None and len(market.reports) > reports)


def test_an_end_by_itself_is_told_at_once(market: Market, start_agent: Start, wanted: DesiredInstance) -> None:
    running = start_agent()
    market.want(wanted)
    row = market.until_phase(wanted.id, "running", 1)
    settle(market)
    begun = time.monotonic()
    simulation(running).kill(row.container, out_of_memory=True)
    assert market.until_phase(wanted.id, "exited", 1).failure_code == "out_of_memory"
    assert time.monotonic() - begun < 2.0
    again = renamed(wanted)
    market.want(again)
    market.until_phase(wanted.id, "running", 2)


@pytest.mark.parametrize(("ended_by", "code"), [("itself", "exited"), ("host", "killed"), ("engine", "engine_restarted")])
def test_whoever_ended_it_is_remembered_over_a_crash(
    market: Market, start_agent: Start, wanted: DesiredInstance, ended_by: EndedBy, code: str
) -> None:
    running = start_agent()
    market.want(wanted)
    container = market.until_phase(wanted.id, "running", 1).container
    simulation(running).kill(container, ended_by=ended_by)
    assert market.until_phase(wanted.id, "exited", 1).failure_code == code
    running.stop()
    again = start_agent()
    reported = len(market.reports)
    forgetful = simulation(again)
    forgetful.who_ended = lambda container: pytest.fail("it was asked again")  # type: ignore[method-assign]
    market.until(lambda report: len(market.reports) > reported)
    assert market.until_phase(wanted.id, "exited", 1).failure_code == code


def test_an_end_that_the_engine_says_nothing_about_is_not_judged_yet(
    market: Market, start_agent: Start, wanted: DesiredInstance
) -> None:
    running = start_agent()
    market.want(wanted)
    container = market.until_phase(wanted.id, "running", 1).container
    engine = simulation(running)
    silent, original = True, engine.who_ended

    def who_ended(container: Container) -> EndedBy:
        if silent:
            raise EngineSilent("no answer")
        return original(container)

    engine.who_ended = who_ended  # type: ignore[method-assign]
    engine.kill(container, ended_by="host")
    assert market.until_phase(wanted.id, "unknown", 1).failure_code == ""
    silent = False
    assert market.until_phase(wanted.id, "exited", 1).failure_code == "killed"


def test_what_is_so_already_is_told_at_once(market: Market, start_agent: Start, wanted: DesiredInstance) -> None:
    """It ended by itself, and the renter then stops it: there is nothing to do but to say so."""
    running = start_agent()
    market.want(wanted)
    simulation(running).kill(market.until_phase(wanted.id, "running", 1).container)
    market.until_phase(wanted.id, "exited", 1)
    market.want(replace(wanted, run="stopped"))
    market.until_phase(wanted.id, "stopped", 1, patience=5)


def test_a_host_that_is_frozen_only_reports(market: Market, start_agent: Start, wanted: DesiredInstance) -> None:
    start_agent()
    market.frozen = True
    market.want(wanted)
    settle(market)
    assert [row.phase for row in next_report(market).instances] == ["creating"]
    market.frozen = False
    market.want(wanted)
    market.until_phase(wanted.id, "running", 1)


def test_unnamed_containers_are_told_and_left_alone(market: Market, start_agent: Start, wanted: DesiredInstance) -> None:
    running = start_agent()
    market.want(wanted)
    market.until_phase(wanted.id, "running", 1)
    market.forget(wanted.id)
    assert market.until(lambda report: bool(report.foreign)).foreign == [f"berth-{wanted.id}-1"]
    assert simulation(running).containers()[0].status == "running"


def test_fault_040_a_port_outside_the_hosts_range_is_refused(
    market: Market, start_agent: Start, wanted: DesiredInstance
) -> None:
    start_agent()
    market.want(replace(wanted, ports=[(22, 22)]))
    row = market.until_phase(wanted.id, "failed", 1)
    assert row.failure_code == "create_failed"
    assert "22" in row.detail


def test_the_fourth_wall(market: Market, start_agent: Start, wanted: DesiredInstance) -> None:
    """Two orders for one GPU, as no sane market would send them: the second is refused, the first lives."""
    start_agent()
    market.want(wanted)
    market.until_phase(wanted.id, "running", 1)
    rival = replace(wanted, id="f" * 32, ports=[(22, 20001)])
    market.want(rival)
    assert market.until_phase(rival.id, "failed", 1).failure_code == "gpu_conflict"
    assert market.until_phase(wanted.id, "running", 1)


def test_fault_028_030_a_silent_engine_is_told_never_guessed(
    market: Market, start_agent: Start, wanted: DesiredInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_module, "UNKNOWN_AFTER", 0.05)
    market.report_interval_s = 1.0
    running = start_agent()
    market.want(wanted)
    market.until_phase(wanted.id, "running", 1)
    runtime = simulation(running)
    silent = threading.Event()
    really = runtime.containers

    def containers(instance: str | None = None) -> list[Container]:
        if silent.is_set():
            raise EngineSilent("no answer")
        return really(instance)

    monkeypatch.setattr(runtime, "containers", containers)
    silent.set()
    row = market.until_phase(wanted.id, "unknown")
    assert row.run_seconds == 0.0
    assert market.reports[-1].engine_age_s > 0
    market.want(replace(wanted, run="gone"))
    reports = len(market.reports)
    market.until(lambda _: len(market.reports) > reports)
    assert not market.reports[-1].absent, "nothing is concluded from silence"
    silent.clear()
    market.until_absent(wanted.id)
    assert market.reports[-1].engine_age_s == 0.0


def test_samples_come_with_regular_reports(
    market: Market, start_agent: Start, wanted: DesiredInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telemetry_module, "MIN_INTERVAL", 0.2)
    market.report_interval_s = 1.0
    start_agent()
    market.want(wanted)
    report = market.until(lambda report: any(row.sample for row in report.instances))
    sample = report.instances[0].sample
    assert sample is not None
    assert sample.cpu_pct > 0
    assert [gpu.uuid for gpu in sample.gpus] == wanted.gpu_uuids


def test_a_busy_market_is_left_alone_for_as_long_as_it_says(
    market: Market, start_agent: Start, wanted: DesiredInstance
) -> None:
    start_agent()
    settle(market)
    market.retry_after, market.trouble = "1", ["503"]
    begun = market.want(wanted)
    market.until_phase(wanted.id, "running", 1)
    assert market.arrived_at[-1] - begun >= 1.0


def test_without_the_relay_it_asks_by_itself(
    market: Market, start_agent: Start, wanted: DesiredInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(since: int, ticket: str) -> bytes:
        raise PermissionError("no such ticket")

    monkeypatch.setattr(market, "wait", refuse)
    market.report_interval_s = 1.0
    start_agent()
    market.until(lambda _: True)
    market.want(wanted)
    market.until_phase(wanted.id, "running", 1, patience=5)


def test_it_reports_at_least_once_in_the_interval(market: Market, start_agent: Start) -> None:
    market.report_interval_s = 1.0
    start_agent()
    market.until(lambda _: len(market.reports) >= 3, patience=8)


# -- self-tests

ASKED = "5e1f" * 8


def ask_for(market: Market, test_id: str) -> None:
    with market.changed:
        market.self_test = test_id
    market.want()


def test_a_self_test_is_made_when_asked_and_told_until_it_is_taken(market: Market, start_agent: Start) -> None:
    start_agent()
    settle(market)
    assert market.reports[-1].self_test is None
    ask_for(market, ASKED)
    report = market.until(lambda report: report.self_test is not None)
    assert report.self_test is not None
    assert report.self_test.id == ASKED
    assert all(check.simulated for check in report.self_test.checks)
    assert sum(check.id == "gpu_compute" for check in report.self_test.checks) == 4
    market.until(lambda report: bool(report.facts and report.facts.disk_measured_at))
    assert next_report(market).self_test == report.self_test, "the answer may have been lost"
    ask_for(market, "")
    market.until(lambda report: report.self_test is None)


def test_measurements_outlive_the_agent(market: Market, start_agent: Start) -> None:
    first = start_agent()
    ask_for(market, ASKED)
    market.until(lambda report: bool(report.facts and report.facts.net_measured_at))
    known = market.facts
    assert known is not None
    first.stop()
    ask_for(market, "")
    with market.changed:
        market.reports.clear()
        market.facts = None
    start_agent()
    market.until(lambda report: report.facts is not None)
    assert market.facts is not None
    assert market.facts.net_measured_at == known.net_measured_at
    assert market.facts.disk_read_mbps == known.disk_read_mbps


def test_a_restarted_agent_makes_the_self_test_that_is_still_asked_for(market: Market, start_agent: Start) -> None:
    ask_for(market, ASKED)
    market.trouble = ["drop"]
    first = start_agent()
    market.until(lambda report: report.self_test is not None)
    first.stop()
    with market.changed:
        market.reports.clear()
    start_agent()
    assert market.until(lambda report: report.self_test is not None).self_test


def test_a_frozen_host_makes_no_self_test(market: Market, start_agent: Start) -> None:
    market.frozen = True
    ask_for(market, ASKED)
    start_agent()
    settle(market)
    assert next_report(market).self_test is None


def test_syncs_go_on_during_a_self_test(
    market: Market, start_agent: Start, wanted: DesiredInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, held = threading.Event(), []

    def slow(which: Callable[[], frozenset[str]]) -> Any:
        gate.wait(20)
        held.append(which())
        yield Check("kernel", True)

    running = start_agent()
    tester = SelfTester(slow, inline=False, changed=running.agent.parts.self_tester.changed)
    object.__setattr__(running.agent.parts, "self_tester", tester)
    ask_for(market, ASKED)
    market.want(wanted)
    market.until_phase(wanted.id, "running", 1)
    assert market.reports[-1].self_test is None
    gate.set()
    market.until(lambda report: report.self_test is not None)
    assert held == [frozenset(wanted.gpu_uuids)], "the checks see what was rented meanwhile"
