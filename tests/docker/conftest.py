"""A real engine, the official image in its short form, and an agent whose GPUs alone are simulated."""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest
from docker.errors import DockerException

from agents.daemon import wiring
from agents.daemon.agent import Agent
from agents.daemon.disks.system_disks import mounted_at
from agents.daemon.enrolment import enrol
from agents.daemon.lib.config import AgentConfig, load_config
from agents.protocol.messages import DesiredInstance
from tests.agents.daemon.market import Market
from tests.docker.engine_contents import paths_with

ROOT = Path(__file__).resolve().parent.parent.parent
IMAGE = "berth/base:test"
SYNC_IMAGE = "berth/sync:test"
PORTS = (21000, 29999)  # outside the range from which the kernel takes outgoing ports


@pytest.fixture(scope="session")
def engine() -> Iterator[Any]:
    """Docker's API. Without an engine: skipped by hand, failed where one is promised."""
    try:
        client = docker.APIClient(version="auto", timeout=60)
    except DockerException as error:
        if os.environ.get("BERTH_REQUIRE_DOCKER") == "1":
            raise
        pytest.skip(f"no container engine: {error}")
    yield client
    client.close()


@pytest.fixture(scope="session")
def image(engine: Any) -> str:
    build = ROOT / "images" / "base" / "build"
    subprocess.run([build, IMAGE, "--build-arg", "WITH_NOTEBOOK=0", "--quiet"], check=True, capture_output=True, timeout=600)
    return IMAGE


@pytest.fixture(scope="session")
def sync_image(engine: Any) -> str:
    """What copies disks to and from object storage."""
    subprocess.run([ROOT / "images/sync/build", SYNC_IMAGE, "--quiet"], check=True, capture_output=True, timeout=600)
    return SYNC_IMAGE


@pytest.fixture(scope="session")
def ssh_key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path


class Ssh:
    """A renter's SSH client."""

    def __init__(self, key: Path) -> None:
        self.key = key

    def line(self, desired: DesiredInstance, command: str) -> list[str]:
        port = str(dict(desired.ports)[22])
        quiet = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]
        return ["ssh", *quiet, "-o", "BatchMode=yes", "-i", str(self.key), "-p", port, "root@127.0.0.1", command]

    def run(
        self, desired: DesiredInstance, command: str, *, timeout: float = 30.0, stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        line = self.line(desired, command)
        return subprocess.run(line, input=stdin, capture_output=True, text=True, timeout=timeout, check=False)

    def must(self, desired: DesiredInstance, command: str) -> str:
        done = self.run(desired, command)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def ssh(ssh_key: Path) -> Ssh:
    return Ssh(ssh_key)


@pytest.fixture
def market() -> Iterator[Market]:
    with Market() as running:
        yield running


class Host:
    """One enrolled machine on the engine: its agent can run here, or in a process that is killed at a checkpoint."""

    def __init__(self, market: Market, state: Path, engine: Any) -> None:
        self.market = market
        self.state = state
        self.engine = engine
        self.config: AgentConfig = load_config(state)
        self._running: list[tuple[Agent, threading.Thread]] = []

    def start(self) -> Agent:
        agent = wiring.build_agent(self.state, self.config)
        thread = threading.Thread(target=agent.run, daemon=True)
        thread.start()
        self._running.append((agent, thread))
        return agent

    def stop(self) -> None:
        for agent, thread in self._running:
            agent.stop()
            thread.join(60)
        self._running.clear()

    def run_until_killed(self, checkpoint: str) -> None:
        """A whole agent that dies without a word at the first passing of the checkpoint."""
        command = [sys.executable, "-m", "tests.docker.doomed_agent", str(self.state), checkpoint]
        done = subprocess.run(command, cwd=ROOT, timeout=60, capture_output=True, text=True, check=False)
        assert done.returncode == 137, f"not killed at {checkpoint}: {done.stderr}"

    def containers(self, desired: DesiredInstance) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.engine.containers(all=True, filters={"label": f"berth.instance={desired.id}"})
        return found

    def inspect(self, desired: DesiredInstance) -> dict[str, Any]:
        found: dict[str, Any] = self.engine.inspect_container(f"berth-{desired.id}-{desired.generation}")
        return found

    def leftovers(self, desired: DesiredInstance) -> list[str]:
        """Looked for without the agent's own eyes."""
        networks = self.engine.networks(names=[f"berth-{desired.id}"])
        images = self.engine.images(name=f"berth-root/{desired.id}") + self.engine.images(
            filters={"label": f"berth.instance={desired.id}"}
        )
        mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if desired.id in line]
        loops = subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=True).stdout
        return [
            *(item["Id"] for item in self.containers(desired)),
            *(item["Name"] for item in networks),
            *(item["Id"] for item in images),
            *mounts,
            *paths_with(self.state, desired.id),
            *(line for line in loops.splitlines() if desired.id in line),
        ]

    def clean_up(self) -> None:
        """Through the agent first, then by force, so that a failed test leaves nothing on the machine."""
        for item in self.engine.containers(all=True, filters={"label": f"berth.host={self.config.host_id}"}):
            self.engine.remove_container(item["Id"], force=True, v=True)
        for item in self.engine.networks(filters={"label": f"berth.host={self.config.host_id}"}):
            self.engine.remove_network(item["Id"])
        for item in self.engine.images(filters={"label": f"berth.host={self.config.host_id}"}):
            self.engine.remove_image(item["Id"], force=True)
        for mount in (self.state / "mounts").glob("*"):
            subprocess.run(["umount", mount], check=False, capture_output=True)
        for image in (self.state / "systems").glob("*"):
            for place in mounted_at(image):
                subprocess.run(["umount", place], check=False, capture_output=True)
        shutil.rmtree(self.state, ignore_errors=True)


def host_maker(engine: Any, folders: pytest.TempPathFactory) -> Iterator[Callable[[Market], Host]]:
    made: list[Host] = []

    def make(market: Market) -> Host:
        state = folders.mktemp("host") / "agent"
        market.host_id = uuid.uuid4().hex
        wanted = AgentConfig(
            url=market.url,
            simulate_gpus="RTX 4090:4",
            listen="127.0.0.1",
            port_first=PORTS[0],
            port_last=PORTS[1],
            local_images=True,
            sparse_disks=True,
        )
        enrol(state, wanted, "join")
        made.append(Host(market, state, engine))
        return made[-1]

    yield make
    for host in made:
        host.stop()
        host.clean_up()


@pytest.fixture
def host(market: Market, engine: Any, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    for make in host_maker(engine, tmp_path_factory):
        yield make(market)


@pytest.fixture(scope="module")
def new_module_host(engine: Any, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Market], Host]]:
    yield from host_maker(engine, tmp_path_factory)


@pytest.fixture(scope="session")
def greedy_image(engine: Any, image: str) -> str:
    """An image whose environment asks for every GPU of the host."""
    recipe = f"FROM {image}\nENV NVIDIA_VISIBLE_DEVICES=all LD_PRELOAD=/lib/evil.so\n"
    tag = "berth/greedy:test"
    subprocess.run(["docker", "build", "-q", "-t", tag, "-"], input=recipe, text=True, check=True, capture_output=True)
    return tag


def free_port() -> int:
    """In the host's range, and free now."""
    while True:
        port = PORTS[0] + uuid.uuid4().int % (PORTS[1] - PORTS[0])
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


@pytest.fixture(scope="session")
def new_order(image: str, ssh_key: Path) -> Callable[[Host], DesiredInstance]:
    def make(host: Host, **changes: Any) -> DesiredInstance:
        assert host.market.facts is not None
        order = DesiredInstance(
            id=uuid.uuid4().hex,
            generation=1,
            fence=1,
            run="running",
            image=image,
            gpu_uuids=[host.market.facts.gpus[0].uuid],
            simulated_gpus=True,
            cpu_millis=500,
            ram_mb=512,
            data_disk_gb=1,
            ports=[(22, free_port()), (8888, free_port())],
            ssh_keys=[ssh_key.with_suffix(".pub").read_text().strip()],
            env={"JUPYTER_TOKEN": "secret-token"},
            stop_grace_s=2,
        )
        return replace(order, **changes)

    return make


@pytest.fixture
def order(host: Host, new_order: Callable[[Host], DesiredInstance]) -> DesiredInstance:
    return new_order(host)


def eventually(true: Callable[[], bool], what: str, patience: float = 60.0) -> None:
    """Wait for something that nothing announces."""
    end = time.monotonic() + patience
    while not true():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.05)
