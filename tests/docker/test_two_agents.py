"""Two agents on one engine: a copy of a host's folder does not run beside it, and two hosts stay apart."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from agents.daemon.docker_engine.container_spec import (
    HOST_LABEL,
    INSTANCE_LABEL,
    EngineOptions,
    network_name,
    root_repository,
)
from agents.daemon.docker_engine.host_claim import HostTaken, claim_engine, claim_name, take_over
from agents.daemon.docker_engine.runtime import DockerRuntime
from agents.daemon.lib.state_folder import PLACE_FILE, FolderLocation
from agents.protocol.messages import DesiredInstance
from tests.agents.daemon.market import Market
from tests.docker.conftest import ROOT, Host
from tests.docker.second_engine import SecondEngine

pytestmark = pytest.mark.docker


@contextmanager
def running(state: Path) -> Iterator["subprocess.Popen[str]"]:
    """The agent as a host runs it, ended by a signal."""
    command = [sys.executable, "-m", "agents.daemon", "run", "--state-dir", str(state)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


def said_by(*arguments: str | Path) -> tuple[int, str]:
    """The exit code and the last line of one command that ends by itself."""
    command = [sys.executable, "-m", "agents.daemon", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, (done.stdout + done.stderr).strip().splitlines()[-1]


@pytest.fixture
def claimed(host: Host) -> Iterator[Host]:
    yield host
    with suppress(docker.errors.APIError):
        host.engine.remove_volume(claim_name(host.config.host_id))


def live(host: Host, order: DesiredInstance) -> str:
    """The container that runs; its engine's name."""
    [found] = host.containers(order)
    assert found["State"] == "running"
    return str(found["Id"])


def test_a_copied_folder_is_refused_and_the_container_lives(claimed: Host, order: DesiredInstance, tmp_path: Path) -> None:
    """What it did before: whatever the copy's market wanted gone was taken from the original, root and all."""
    host, copy = claimed, tmp_path / "copy"
    with running(host.state):
        host.market.want(order)
        host.market.until_phase(order.id, "running", 1)
        before = live(host, order)
        shutil.copytree(host.state, copy, ignore=shutil.ignore_patterns("mounts", "disks", "systems"))
        host.market.want(replace(order, generation=2, run="gone"))  # the copy has a market that has given it up
        host.market.desired[order.id] = order
        code, line = said_by("run", "--state-dir", copy)
        assert code == 1
        assert line.startswith(f"berth-agent: {copy} is a copy of {host.state}: ")
        assert f"berth-agent adopt --state-dir {copy}" in line
        assert live(host, order) == before
        code, line = said_by("adopt", "--state-dir", copy)
        assert (code, "stop and disable it first" in line) == (1, True), "not while the original runs"
        code, line = said_by("run", "--state-dir", host.state)
        assert (code, "already (process" in line) == (1, True), "nor twice from one folder"
        assert live(host, order) == before


def test_a_copy_from_before_folders_had_places_meets_the_claim(
    claimed: Host, order: DesiredInstance, tmp_path: Path
) -> None:
    host, copy = claimed, tmp_path / "copy"
    host.start()  # an agent that knows neither places nor claims
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    host.stop()
    before = live(host, order)
    assert not (host.state / PLACE_FILE).exists()
    shutil.copytree(host.state, copy, ignore=shutil.ignore_patterns("mounts", "disks", "systems"))
    known = len(host.market.reports)
    with running(host.state) as original:
        host.market.until(lambda report: len(host.market.reports) > known)
        host.market.until_phase(order.id, "running", 1)
        assert live(host, order) == before, "the newer version finds what the older one made"
        code, line = said_by("run", "--state-dir", copy)
        assert (code, "belong to the agent of" in line) == (1, True), line
        code, line = said_by("adopt", "--state-dir", copy)
        assert (code, "stop and disable it first" in line) == (1, True), "not while the original runs"
        # From where its process is not seen, as in another container, the owner says all the same that the copy is the host.
        take_over(host.config.host_id, FolderLocation("another", "", 1, "/somewhere/else"))
        _, output = original.communicate(timeout=60)
        assert original.returncode == 1
        assert "belong to the agent of /somewhere/else" in output.splitlines()[-1]
    assert live(host, order) == before
    assert said_by("adopt", "--state-dir", copy)[0] == 0
    assert said_by("run", "--once", "--state-dir", copy)[0] == 0
    code, line = said_by("run", "--state-dir", host.state)
    assert (code, f"belong to the agent of {copy}" in line) == (1, True)
    assert live(host, order) == before


def test_two_hosts_that_know_one_instance_leave_each_other_alone(
    new_module_host: Callable[[Market], Host], new_order: Callable[[Host], DesiredInstance], engine: Any
) -> None:
    """As after a copy of the market's database under which this machine was enrolled anew."""
    with Market() as market, Market() as other_market:
        host, other = new_module_host(market), new_module_host(other_market)
        order = new_order(host)
        host.start()
        market.want(order)
        market.until_phase(order.id, "running", 1)
        market.want(replace(order, generation=2, run="stopped"))
        market.until_phase(order.id, "stopped", 2)
        [container] = host.containers(order)
        labels = {HOST_LABEL: host.config.host_id, INSTANCE_LABEL: order.id}
        changes = "LABEL " + " ".join(f"{name}={value}" for name, value in labels.items())
        engine.commit(container["Id"], repository=root_repository(order.id), tag="7", changes=changes)
        other.start()
        other_market.want(replace(order, run="gone"))
        other_market.until_absent(order.id)
        assert [item["Id"] for item in host.containers(order)] == [container["Id"]]
        assert engine.networks(names=[network_name(order.id)])
        assert engine.images(name=root_repository(order.id))
        market.want(replace(order, generation=3, run="gone"))
        market.until_absent(order.id)
        assert not host.leftovers(order)


def test_what_an_earlier_version_did_not_label_is_still_its_own(host: Host, order: DesiredInstance, engine: Any) -> None:
    runtime = DockerRuntime(EngineOptions(host.config.host_id))
    engine.create_network(network_name(order.id), driver="bridge")
    try:
        assert runtime.leftovers(order.id)
        runtime.clear(order.id)
        assert not runtime.leftovers(order.id)
    finally:
        runtime.close()


def test_the_claim_is_the_folders_after_the_engine_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that is asked to make a volume of before its start answers without its labels."""
    own, other = (FolderLocation(token, "machine", 1, f"/{token}") for token in ("own", "other"))
    with SecondEngine() as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.socket)
        claim_engine("h" * 32, own)
        engine.restart()
        claim_engine("h" * 32, own)
        engine.restart()
        with pytest.raises(HostTaken, match="/own"):
            claim_engine("h" * 32, other)
