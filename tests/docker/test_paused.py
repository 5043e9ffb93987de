"""What the owner of a host does to a container that runs on, on a real engine: paused, or given less than was ordered."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.docker_engine import cgroups
from agents.protocol.messages import DesiredInstance, ObservedInstance
from tests.docker.conftest import Host, eventually

pytestmark = pytest.mark.docker

PROMPTLY = 10.0


def rows(host: Host, order: DesiredInstance, since: int) -> list[ObservedInstance]:
    return [row for report in host.market.reports[since:] for row in report.instances if row.id == order.id]


def folder(host: Host, order: DesiredInstance, controller: str) -> Path:
    pid = host.inspect(order)["State"]["Pid"]
    found = cgroups._folders(pid, cgroups.ROOT, cgroups.PROC)
    return found.get(controller, found.get("", Path()))


def freeze(host: Host, order: DesiredInstance, *, stop: bool) -> None:
    place = folder(host, order, "freezer")
    if (place / "freezer.state").exists():
        (place / "freezer.state").write_text("FROZEN" if stop else "THAWED")
    else:
        (place / "cgroup.freeze").write_text("1" if stop else "0")


def pause(host: Host, order: DesiredInstance, *, stop: bool) -> None:
    (host.engine.pause if stop else host.engine.unpause)(host.inspect(order)["Id"])


@pytest.fixture
def running(host: Host, order: DesiredInstance) -> DesiredInstance:
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    return order


@pytest.mark.parametrize("way", [pause, freeze])
def test_fault_031_a_pause_is_told_at_once_and_ends_by_itself(host: Host, running: DesiredInstance, way: Any) -> None:
    """By the engine or past it, in the kernel's own file."""
    since = len(host.market.reports)
    way(host, running, stop=True)
    reported = host.market.until_phase(running.id, "unknown", 1, patience=PROMPTLY)
    assert reported.failure_code == "paused"
    way(host, running, stop=False)
    host.market.until_phase(running.id, "running", 1, patience=PROMPTLY)
    assert {row.failure_code for row in rows(host, running, since) if row.phase == "unknown"} == {"paused"}


def test_a_short_pause_while_the_market_cannot_be_reached_is_told_later(host: Host, running: DesiredInstance) -> None:
    """It is over when the link is back; otherwise cutting the link first would hide it."""
    since = len(host.market.reports)
    host.market.trouble[:] = ["503"] * 100
    freeze(host, running, stop=True)
    time.sleep(3)
    freeze(host, running, stop=False)
    time.sleep(2)
    assert len(host.market.reports) == since
    host.market.trouble.clear()
    eventually(lambda: any(row.failure_code == "paused" for row in rows(host, running, since)), "it is told")
    eventually(lambda: rows(host, running, since)[-1].phase == "running", "and that it is over")


def test_a_save_of_its_root_is_no_pause_by_the_owner(host: Host, running: DesiredInstance, engine: Any) -> None:
    """The engine pauses a container for that, as its renter has ordered."""
    agent = host._running[0][0]
    since = len(host.market.reports)
    container = host.inspect(running)["Id"]
    subprocess.run(
        ["docker", "exec", container, "dd", "if=/dev/urandom", "of=/root/much", "bs=1M", "count=200"],
        check=True,
        capture_output=True,
    )
    agent.parts.runtime.save_image(container, "berth/saved-in-a-test:1")
    try:
        time.sleep(3)
        assert {row.failure_code for row in rows(host, running, since)} <= {""}
    finally:
        engine.remove_image("berth/saved-in-a-test:1", force=True)


def lower_cpu(host: Host, order: DesiredInstance) -> None:
    subprocess.run(["docker", "update", "--cpus", "0.01", host.inspect(order)["Id"]], check=True, capture_output=True)


def lower_memory(host: Host, order: DesiredInstance) -> None:
    line = ["docker", "update", "--memory", "100m", "--memory-swap", "100m", host.inspect(order)["Id"]]
    subprocess.run(line, check=True, capture_output=True)


def lower_processes(host: Host, order: DesiredInstance) -> None:
    subprocess.run(["docker", "update", "--pids-limit", "50", host.inspect(order)["Id"]], check=True, capture_output=True)


def lower_quota_past_the_engine(host: Host, order: DesiredInstance) -> None:
    place = folder(host, order, "cpu")
    if (place / "cpu.cfs_quota_us").exists():
        (place / "cpu.cfs_quota_us").write_text("2000")
    else:
        (place / "cpu.max").write_text("2000 100000")


@pytest.mark.parametrize(
    ("lower", "what"),
    [
        (lower_cpu, "CPU"),
        (lower_quota_past_the_engine, "CPU"),
        (lower_memory, "memory"),
        (lower_processes, "processes"),
    ],
)
def test_fault_031_a_lowered_limit_is_told_and_restored(
    host: Host, running: DesiredInstance, lower: Callable[[Host, DesiredInstance], None], what: str
) -> None:
    since = len(host.market.reports)
    lower(host, running)
    eventually(lambda: any(what in row.detail for row in rows(host, running, since)), "it is told", PROMPTLY)
    assert {row.failure_code for row in rows(host, running, since) if row.phase == "unknown"} == {"throttled"}
    host.market.until_phase(running.id, "running", 1, patience=20)
    pid, ordered = host.inspect(running)["State"]["Pid"], cgroups.Limits(500, 512, running.pids_limit)
    assert cgroups.reduced_limits(pid, ordered, 0.98) == ""


def test_a_lowered_set_of_cpus_is_restored(host: Host, new_order: Callable[..., DesiredInstance]) -> None:
    if (os.cpu_count() or 1) < 2:
        pytest.skip("one CPU cannot be taken away")
    host.start()
    wanted = new_order(host, cpu_millis=2000)
    host.market.want(wanted)
    container = host.market.until_phase(wanted.id, "running", 1).container
    since = len(host.market.reports)
    subprocess.run(["docker", "update", "--cpuset-cpus", "0", container], check=True, capture_output=True)
    eventually(lambda: any(row.failure_code == "throttled" for row in rows(host, wanted, since)), "it is told", PROMPTLY)
    host.market.until_phase(wanted.id, "running", 1, patience=20)


def test_a_paused_instance_can_be_stopped_and_released(host: Host, running: DesiredInstance) -> None:
    pause(host, running, stop=True)
    host.market.until_phase(running.id, "unknown", 1, patience=PROMPTLY)
    host.market.want(type(running)(**{**vars(running), "run": "stopped"}))
    host.market.until_phase(running.id, "stopped", 1, patience=40)
