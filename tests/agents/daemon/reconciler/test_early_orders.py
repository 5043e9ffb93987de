"""Slips: an instance begins before the exchange that confirms it, and nothing that a sync has told is ever undone by one."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from agents.daemon.lib.journal import Entry
from agents.daemon.reconciler.fencing import NOTHING_ACCEPTED, validate_early_order
from agents.protocol.messages import DesiredInstance, DesiredState, Report, WaitAnswer
from tests.agents.daemon.conftest import RunningAgent
from tests.agents.daemon.market import SLIP_KEY, Market, renamed
from tests.agents.daemon.test_agent import settle, simulation
from tests.waiting import wait_until

Start = Callable[[], RunningAgent]
NEWEST = DesiredState(protocol=1, version=7, wait_url="", wait_ticket="", slip_key=SLIP_KEY)


def reports_after(market: Market, count: int) -> list[Report]:
    """The reports that came after the first `count`, once the host waits again: there is one at least after each wake-up."""
    market.until(lambda _: len(market.reports) > count)
    settle(market)
    return market.reports[count:]


def wait_for_calm(market: Market) -> None:
    """Until no report comes for a second: an instance's own changes are reported beside the wait at the relay."""
    count = -1
    while count != len(market.reports):
        count = len(market.reports)
        threading.Event().wait(1.0)
    settle(market)


def test_the_first_report_after_the_wake_up_tells_that_it_runs(
    market: Market, start_agent: Start, wanted: DesiredInstance
) -> None:
    start_agent()
    settle(market)
    report_count = len(market.reports)
    market.desired[wanted.id] = wanted
    market.hand_over(market.slip_of(wanted))
    first = reports_after(market, report_count)[0]
    assert [(row.id, row.phase) for row in first.instances] == [(wanted.id, "running")]


def test_a_lost_slip_is_made_good_by_the_exchange(market: Market, start_agent: Start, wanted: DesiredInstance) -> None:
    start_agent()
    settle(market)
    report_count = len(market.reports)
    market.want(wanted)
    market.until_phase(wanted.id, "running")
    assert market.reports[report_count].instances == [], "the agent had to ask first"


@pytest.mark.parametrize("spoil", [lambda slip: "0" * 64 + slip[64:], lambda slip: slip[:-1] + " }", lambda _: "x"])
def test_what_is_not_sealed_by_the_control_plane_starts_nothing(
    market: Market, start_agent: Start, wanted: DesiredInstance, spoil: Callable[[str], str]
) -> None:
    running = start_agent()
    settle(market)
    report_count = len(market.reports)
    market.hand_over(spoil(market.slip_of(wanted)))
    assert all(report.instances == [] for report in reports_after(market, report_count))
    assert simulation(running).containers() == []


def test_a_slip_that_comes_too_late_is_undone_by_the_exchange_that_follows(
    market: Market, start_agent: Start, wanted: DesiredInstance
) -> None:
    """The renter stopped it again before the agent heard of either: the last word is the sync's."""
    running = start_agent()
    settle(market)
    market.desired[wanted.id] = replace(wanted, run="stopped", gpu_uuids=[])
    market.hand_over(market.slip_of(wanted))
    market.until_phase(wanted.id, "stopped")
    assert [item.status for item in simulation(running).containers()] == ["exited"]


def test_a_slip_does_not_start_again_what_a_sync_has_stopped(
    market: Market, start_agent: Start, wanted: DesiredInstance
) -> None:
    running = start_agent()
    market.want(replace(wanted, run="stopped", gpu_uuids=[]))
    market.until_phase(wanted.id, "stopped")
    settle(market)
    report_count = len(market.reports)
    market.hand_over(market.slip_of(wanted))
    assert all(row.phase == "stopped" for report in reports_after(market, report_count) for row in report.instances)
    assert simulation(running).containers() == []


def test_a_new_generation_of_a_stopped_instance_starts_by_slip(
    market: Market, start_agent: Start, wanted: DesiredInstance
) -> None:
    start_agent()
    market.want(wanted)
    market.until_phase(wanted.id, "running")
    market.want(replace(wanted, run="stopped", gpu_uuids=[]))
    market.until_phase(wanted.id, "stopped")
    wait_for_calm(market)
    report_count, again = len(market.reports), renamed(wanted, fence=2)
    market.desired[wanted.id] = again
    market.hand_over(market.slip_of(again))
    first = reports_after(market, report_count)[0]
    assert [(row.generation, row.phase) for row in first.instances] == [(2, "running")]


def test_a_restarted_agent_takes_no_slip_before_the_control_plane_has_spoken(
    market: Market, start_agent: Start, wanted: DesiredInstance
) -> None:
    running = start_agent()
    settle(market)
    running.stop()
    market.slip = market.slip_of(wanted)
    report_count = len(market.reports)
    again = start_agent()
    assert all(report.instances == [] for report in reports_after(market, report_count))
    assert simulation(again).containers() == []


def test_an_agent_that_dies_before_the_exchange_takes_over_what_its_slip_began(
    market: Market, start_agent: Start, wanted: DesiredInstance
) -> None:
    running = start_agent()
    settle(market)
    market.desired[wanted.id] = wanted
    market.trouble = ["503"] * 3
    market.hand_over(market.slip_of(wanted))
    wait_until("it runs", simulation(running).running_gpus)
    running.stop()
    again = start_agent()
    market.until_phase(wanted.id, "running", 1)
    assert [item.generation for item in simulation(again).containers()] == [1]


def test_an_answer_that_is_none_still_wakes(market: Market, start_agent: Start, wanted: DesiredInstance) -> None:
    start_agent()
    settle(market)
    market.desired[wanted.id] = wanted
    market.hand_over("\x00")  # no text that the protocol knows
    market.until_phase(wanted.id, "running")


# -- which slips count


def answer(market: Market, wanted: DesiredInstance, *, version: int = 8, key: str = SLIP_KEY) -> WaitAnswer:
    return WaitAnswer(version, market.slip_of(wanted, key=key))


def test_the_next_change_counts(market: Market, wanted: DesiredInstance) -> None:
    verdict = validate_early_order(answer(market, wanted), NEWEST, {})
    assert verdict.accepted == [wanted]
    assert verdict.changes[wanted.id].generation == 1


@pytest.mark.parametrize("version", [0, 6, 7, 9, 1_700_000_000_000_000])
def test_not_when_it_is_old_or_not_the_only_change(market: Market, wanted: DesiredInstance, version: int) -> None:
    assert validate_early_order(answer(market, wanted, version=version), NEWEST, {}) == NOTHING_ACCEPTED


def test_not_on_a_frozen_host(market: Market, wanted: DesiredInstance) -> None:
    assert validate_early_order(answer(market, wanted), replace(NEWEST, frozen=True), {}) == NOTHING_ACCEPTED


@pytest.mark.parametrize("key", ["", "zz", "5b" * 32])
def test_not_under_another_key_or_none(market: Market, wanted: DesiredInstance, key: str) -> None:
    verdict = validate_early_order(answer(market, wanted), replace(NEWEST, slip_key=key), {})
    assert verdict.accepted == []
    assert len(verdict.refused) == 1


@pytest.mark.parametrize(
    "entry", [Entry(generation=1, fence=1), Entry(generation=2, fence=1), Entry(generation=1, run="gone")]
)
def test_not_for_a_generation_that_was_accepted_before(market: Market, wanted: DesiredInstance, entry: Entry) -> None:
    assert validate_early_order(answer(market, wanted), NEWEST, {wanted.id: entry}) == NOTHING_ACCEPTED


@pytest.mark.parametrize("entry", [Entry(generation=1, fence=2), Entry(generation=1, fence=1, run="gone")])
def test_fences_and_graves_hold_against_a_higher_generation(market: Market, wanted: DesiredInstance, entry: Entry) -> None:
    verdict = validate_early_order(answer(market, renamed(wanted)), NEWEST, {wanted.id: entry})
    assert verdict.accepted == []
    assert len(verdict.refused) == 1


@pytest.mark.parametrize("run", ["stopped", "gone"])
def test_a_slip_ends_nothing(market: Market, wanted: DesiredInstance, run: str) -> None:
    assert validate_early_order(answer(market, replace(wanted, run=run)), NEWEST, {}) == NOTHING_ACCEPTED  # type: ignore[arg-type]  # a Run
