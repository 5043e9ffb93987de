"""As test_kill_points.py, for what an agent does unasked: networks made anew, and a new epoch of the market agreed to.

What the host or the market does here happens while the box runs. The agent is killed at each step of mending it.
"""

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.docker_engine.container_spec import bridge_name, network_name
from tests.docker.kill_matrix import build_greeter, fork_server
from tests.docker.kill_stage import CUT, GREETER, Action, Stage, Tour, open_stage
from tests.docker.test_kill_points import gpus, running

pytestmark = pytest.mark.docker
NET = Path("/sys/class/net")
ANEW = (
    "POST networks/berth-ID/disconnect",
    "DELETE networks/ID",
    "POST networks/create",
    "POST networks/berth-ID/connect",
    "=attached",
)


@pytest.fixture(scope="module")
def stage(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A box that runs."""
    build_greeter(GREETER)
    with fork_server() as place, open_stage(engine, tmp_path_factory.mktemp("kills"), place) as stage:
        stage.market.report_interval_s = 1.0
        stage.env["BERTH_TEST_LOOK_S"] = "0.2"  # at the ways to containers
        stage.spawn()
        stage.market.until(lambda report: report.facts is not None)
        stage.new("box")
        stage.market.until(lambda report: running(stage))
        yield stage


def started_at(stage: Stage) -> str:
    [found] = stage.machine.containers(stage.box.id)
    return str(stage.machine.engine.inspect_container(found["Id"])["State"]["StartedAt"])


def is_reached(stage: Stage) -> bool:
    """By the engine's word and the kernel's: plugged into a network that is there, whose bridge is up."""
    [found] = stage.machine.containers(stage.box.id)
    name = network_name(stage.box.id)
    plugged = found["NetworkSettings"]["Networks"].get(name, {}).get("NetworkID", "")
    there = {item["Id"] for item in stage.machine.engine.networks(names=[name])}
    flags = NET / bridge_name(stage.box.id) / "flags"
    return plugged in there and flags.exists() and bool(int(flags.read_text(), 16) & 1)


def heals(stage: Stage, name: str, harm: Any) -> Action:
    was = started_at(stage)

    def is_there(stage: Stage) -> bool:
        return is_reached(stage) and running(stage)

    def check(stage: Stage) -> None:
        assert started_at(stage) == was, "its programs went on"

    return Action(name, harm, is_there, check)


def remove_network(stage: Stage) -> None:
    [found] = stage.machine.containers(stage.box.id)
    name = network_name(stage.box.id)
    stage.machine.engine.disconnect_container_from_network(found["Id"], name, force=True)
    stage.machine.engine.remove_network(name)


def set_bridge_down(stage: Stage) -> None:
    subprocess.run(["ip", "link", "set", bridge_name(stage.box.id), "down"], check=True)


def remove_bridge(stage: Stage) -> None:
    subprocess.run(["ip", "link", "delete", bridge_name(stage.box.id)], check=True)


def test_a_network_that_was_removed_is_made_anew(stage: Stage) -> None:
    Tour(stage, heals(stage, "network removed", remove_network)).run()


@pytest.mark.parametrize("harm", [set_bridge_down, remove_bridge])
def test_a_network_that_leads_nowhere_is_made_anew(stage: Stage, harm: Any) -> None:
    Tour(stage, heals(stage, harm.__name__, harm)).run()
    assert {("attach", step) for step in ANEW} <= CUT


def test_fault_082_a_new_epoch_is_agreed_to(stage: Stage) -> None:
    """The market's lower fences are taken; what it does not know is kept, and kept from running until it is known again."""
    stage.new("other", gpu_uuids=gpus(stage, 3))
    Tour(stage).until("both run", lambda: running(stage) and stage.has_reported("running", "other"))
    was = started_at(stage)

    def begin(stage: Stage) -> None:
        stage.market.epoch = (stage.market.epoch or 100) + 1
        stage.orders["box"] = replace(stage.box, fence=1)
        stage.market.want(stage.box)
        stage.market.forget(stage.orders["other"].id)

    def is_agreed(stage: Stage) -> bool:
        last, other = stage.market.reports[-1], stage.orders["other"].id
        [unknown] = stage.machine.containers(other)
        agreed = last.epoch == stage.market.epoch and [row.id for row in last.holdings] == [other]
        return agreed and unknown["State"] == "exited" and running(stage)

    def check(stage: Stage) -> None:
        assert started_at(stage) == was, "what both know goes on"

    def name_again(stage: Stage) -> None:
        stage.orders["box"] = replace(stage.box, fence=stage.box.fence + 5)  # which the next epoch does not know
        stage.market.want(stage.box)
        stage.change("other", fence=stage.orders["other"].fence + 1)

    known = Action("known again", name_again, lambda stage: stage.has_reported("running", "other"), check)
    assert Tour(stage, Action("epoch", begin, is_agreed, check), known).run() >= 3
    assert {("MainThread", step) for step in ("=epoch-told", "=epoch-taken", "=epoch-kept")} <= CUT
