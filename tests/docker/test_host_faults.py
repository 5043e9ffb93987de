"""What goes wrong around a container on a real host: a full disk, an image that is too large, a program that stays."""

import os
import socket
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.engine import pull_watch
from agents.daemon.reconciler import image_pulls
from agents.daemon.telemetry.host_facts import DISK_FULL
from agents.protocol.messages import DesiredInstance
from tests.agents.daemon.market import Market, renamed
from tests.docker.conftest import Host, Ssh, free_port, host_maker
from tests.storage.stub_registry import StubRegistry

pytestmark = pytest.mark.docker  # one engine, one firewall
NewOrder = Callable[..., DesiredInstance]
MIB = 1024**2
STUBBORN = "berth/stubborn:test"
IGNORES = """
#include <signal.h>
#include <unistd.h>
int main(void) { signal(SIGTERM, SIG_IGN); for (;;) pause(); }
"""


@pytest.fixture(scope="module")
def stubborn(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An image whose program does not end when it is asked to."""
    folder = tmp_path_factory.mktemp("stubborn")
    (folder / "main.c").write_text(IGNORES)
    subprocess.run(["gcc", "-static", "-Os", "-o", folder / "main", folder / "main.c"], check=True)
    (folder / "Dockerfile").write_text('FROM scratch\nCOPY main /main\nCMD ["/main"]\n')
    subprocess.run(["docker", "build", "--quiet", "--tag", STUBBORN, folder], check=True, capture_output=True)
    return STUBBORN


@pytest.fixture
def simple(new_order: NewOrder, stubborn: str) -> NewOrder:
    """Orders that need nothing but a container."""

    def make(host: Host, **changes: Any) -> DesiredInstance:
        plain = {"image": stubborn, "has_ssh": False, "data_disk_gb": 0, "ports": [], "stop_grace_s": 1}
        return new_order(host, **{**plain, **changes})

    return make


def test_fault_041_a_program_that_ignores_the_stop_is_killed_after_its_grace(host: Host, simple: NewOrder) -> None:
    """What its renter pays of that is capped by the market: see tests/instances/lifecycle/test_ends_by_host.py."""
    order = simple(host)
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    report_count = len(host.market.reports)
    host.market.want(replace(order, run="stopped"))
    host.market.until_phase(order.id, "stopped", 1)
    state = host.inspect(order)["State"]
    assert (state["ExitCode"], state["OOMKilled"]) == (137, False), "killed, since it did not go"
    seen = [row.phase for report in host.market.reports[report_count:] for row in report.instances]
    assert set(seen) <= {"stopping", "stopped", "running"} and seen[-1] == "stopped"
    host.market.want(replace(order, run="gone"))
    host.market.until_absent(order.id)
    assert host.leftovers(order) == []


# -- 34: the host's disk is full


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own for the agent's folder."""
    image, place = tmp_path / "small.ext4", tmp_path / "small"
    with image.open("wb") as file:
        file.truncate(48 * MIB)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
    place.mkdir()
    subprocess.run(["mount", "-o", "loop", image, place], check=True)
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture
def cramped(market: Market, engine: Any, image: str, small: Path) -> Iterator[Host]:
    class There:
        @staticmethod
        def mktemp(_name: str) -> Path:
            return small

    for make in host_maker(engine, There()):  # type: ignore[arg-type]  # all that is asked of it
        yield make(market)


def fill(place: Path) -> None:
    """To the last byte."""
    with (place / "filler").open("wb", buffering=0) as file:
        for piece in (MIB, 4096, 1):
            try:
                while file.write(b"x" * piece):
                    pass
            except OSError:
                os.fsync(file.fileno())


def test_fault_034_an_agent_on_a_full_disk_goes_on(cramped: Host, small: Path, simple: NewOrder) -> None:
    """It starts, reports, stops what runs, and remembers all of it; what needs room is refused until there is some."""
    host, market = cramped, cramped.market
    order = simple(host)
    host.start()
    market.want(order)
    market.until_phase(order.id, "running", 1)
    host.stop()
    fill(small)
    assert os.statvfs(small).f_bavail == 0

    host.start()
    report = market.until(lambda report: report.facts is not None)
    assert report.facts is not None
    assert DISK_FULL in report.facts.warnings and report.facts.disk_free_gb == 0
    market.until_phase(order.id, "running", 1)
    others = [replace(order, id=uuid.uuid4().hex, run="stopped", gpu_uuids=[]) for _ in range(40)]
    for generation in range(2, 40):  # more than the journal holds: it is compacted on the way
        market.want(*(replace(other, generation=generation) for other in others))
        market.until_phase(others[-1].id, "stopped", generation)
    market.want(renamed(order, run="stopped"))
    market.until_phase(order.id, "stopped", 2)
    greedy = simple(host, data_disk_gb=1, gpu_uuids=[])
    host.stop()
    host.config = replace(host.config, sparse_disks=False)
    host.start()
    market.want(greedy)
    refused = market.until_phase(greedy.id, "failed", 1)
    assert (refused.failure_code, bool(refused.detail)) == ("disk_full", True)
    market.want(replace(order, generation=3))
    assert market.until_phase(order.id, "failed", 3).failure_code == "disk_full"

    host.stop()
    market.want(replace(order, generation=1))  # what it accepted on the full disk it has not forgotten
    host.start()
    report_count = len(market.reports)
    market.until(lambda _: len(market.reports) >= report_count + 2)
    assert not any(item["State"] == "running" for item in host.containers(order))
    (small / "filler").unlink()
    market.want(replace(order, generation=4))
    market.until_phase(order.id, "running", 4)


# -- 39: an image that unpacks to more than there is


@pytest.fixture
def registry() -> Iterator[StubRegistry]:
    with StubRegistry() as running:
        yield running


def test_fault_039_an_image_that_claims_too_much_is_not_asked_for(
    host: Host, registry: StubRegistry, simple: NewOrder
) -> None:
    digest = registry.add("team/huge")
    host.config = replace(host.config, local_images=False)
    order = simple(host, image=f"{registry.host}/team/huge@{digest}", image_bytes=10**15)
    host.start()
    host.market.want(order)
    assert host.market.until_phase(order.id, "failed", 1).failure_code == "image_too_large"
    assert registry.asked == [], "not one byte"


def test_fault_039_a_bomb_is_ended_before_the_disk_is_full(
    host: Host, registry: StubRegistry, simple: NewOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some hundred KB that unpack to 1.2 GB, on an engine that has 300 MB to give: the GPU is free, and others go on."""
    layers = [{"zeros": bytes([number]) * (60 * MIB)} for number in range(20)]
    digest = registry.add("team/bomb", layers=layers)
    assert sum(map(len, registry.blobs.values())) < 3 * MIB
    host.config = replace(host.config, local_images=False)
    agent = host.start()
    neighbour = simple(host, gpu_uuids=[])
    host.market.want(neighbour)
    host.market.until_phase(neighbour.id, "running", 1)
    before = agent.parts.runtime.free_image_bytes()
    for module in (pull_watch, image_pulls):
        monkeypatch.setattr(module, "ROOM_KEPT", before - 300 * MIB)
    monkeypatch.setattr(pull_watch, "ROOM_SECONDS", 0.0)
    bomb = simple(host, image=f"{registry.host}/team/bomb@{digest}", image_bytes=sum(map(len, registry.blobs.values())))
    lowest, ended = [before], threading.Event()

    def measure() -> None:
        while not ended.wait(0.05):
            lowest[0] = min(lowest[0], agent.parts.runtime.free_image_bytes())

    watch = threading.Thread(target=measure)
    watch.start()
    try:
        host.market.want(bomb)
        row = host.market.until_phase(bomb.id, "failed", 1)
    finally:
        ended.set()
        watch.join()
    assert (row.failure_code, "fills the host's disk" in row.detail) == ("image_too_large", True)
    assert before - lowest[0] < 900 * MIB, "long before all of it"
    assert not agent.parts.runtime.has_image(bomb.image)
    host.market.until_phase(neighbour.id, "running", 1)


# -- 40: a port that another program on the host has


def test_fault_040_a_taken_port_is_named_and_another_one_serves(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    """Never one that nobody asked for."""
    taken, other = dict(order.ports)[22], free_port()
    host.start()
    with socket.create_server(("127.0.0.1", taken)):
        host.market.want(order)
        failed = host.market.until_phase(order.id, "failed", 1)
        assert (failed.failure_code, failed.detail) == (
            "port_taken",
            f"Port {taken} of the host is taken by another program.",
        )
        assert not any(item["State"] == "running" for item in host.containers(order))
        again = renamed(order, ports=[(22, other), (8888, dict(order.ports)[8888])])
        host.market.want(again)
        host.market.until_phase(order.id, "running", 2)
        published = {
            int(place["HostPort"])
            for places in host.inspect(again)["NetworkSettings"]["Ports"].values()
            for place in places or ()
        }
        assert published == {outside for _, outside in again.ports}
        assert ssh.must(again, "echo in") == "in\n"
