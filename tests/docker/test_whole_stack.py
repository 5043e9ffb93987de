"""The main job on a real engine, through the API of a whole running Berth: rent, SSH, stop, other GPUs, quota, gone."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.docker.engine_contents import containers_of, paths_with
from tests.stack import renting
from tests.stack.conftest import open_folder
from tests.stack.harness import Stack
from tests.waiting import wait_until

pytestmark = pytest.mark.docker

GPU_NAME = "RTX 4090"
PORTS = "30000-30999"


@pytest.fixture(scope="module")
def stack(services: None, engine: Any, image: str, ssh_key: Path) -> Iterator[Stack]:
    """Each test leaves it without instances, as it found it."""
    stack = Stack(open_folder())
    try:
        stack.start()
        stack.run_module("tests.stack.seed", "image", "berth-test", image)
        stack.enrol(
            "real", "--runtime", "docker", "--simulate-gpus", f"{GPU_NAME}:3", "--ports", PORTS, "--listen", "127.0.0.1"
        )
        key = ssh_key.with_suffix(".pub").read_text().strip()
        reply = stack.client("alice").post("/api/v1/ssh-keys", json={"name": "test", "public_key": key})
        assert reply.status_code == httpx.codes.CREATED, reply.text
        yield stack
    finally:
        stack.stop()


class Box:
    """One instance as its renter and its host's engine see it."""

    def __init__(self, stack: Stack, engine: Any, client: httpx.Client, key: Path) -> None:
        self.stack, self.engine, self.client, self.key = stack, engine, client, key
        self.instance: dict[str, Any] = {}

    def rent(self, **choices: int) -> "Box":
        offer = renting.offer_of(self.client, "real")
        self.instance = renting.rent(self.client, offer, image="berth-test", **choices)
        self.instance = renting.wait_for_state(self.client, self.instance, "running")
        return self

    def act(self, action: str, state: str) -> None:
        renting.act(self.client, self.instance, action)
        self.instance = renting.wait_for_state(self.client, self.instance, state)

    @property
    def uuid(self) -> str:
        return str(self.instance["id"]).removeprefix("inst_")

    @property
    def gpus(self) -> list[str]:
        return [gpu["uuid"] for gpu in self.instance["gpus"]]

    def containers(self) -> list[dict[str, Any]]:
        return containers_of(self.engine, self.uuid)

    def ssh(self, command: str) -> subprocess.CompletedProcess[str]:
        access = self.instance["access"]["ssh"]
        quiet = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]
        where = ["-p", str(access["port"]), f"{access['user']}@127.0.0.1"]
        line = ["ssh", *quiet, "-o", "BatchMode=yes", "-i", str(self.key), *where, command]
        return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)

    def must(self, command: str) -> str:
        done = self.ssh(command)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture
def box(stack: Stack, engine: Any, ssh_key: Path) -> Box:
    return Box(stack, engine, stack.client("alice"), ssh_key)


def test_fault_035_rent_ssh_stop_other_gpus_quota_gone(box: Box, engine: Any) -> None:
    box.rent(gpu_count=1, data_disk_gb=1)
    _check_container(box)
    box.must("echo root > /root/kept; echo data > /data/kept; mkdir -p /opt/mine")

    first = box.gpus
    box.act("stop", "stopped")
    assert [found["State"]["Running"] for found in box.containers()] == [False]
    rival = _rival_on(first, box)
    box.act("start", "running")
    assert box.gpus != first
    assert box.must("cat /root/kept /data/kept; test -d /opt/mine") == "root\ndata"
    _check_container(box)

    full = box.ssh("dd if=/dev/zero of=/data/big bs=1M count=2000")
    assert full.returncode != 0
    assert "No space left on device" in full.stderr
    assert int(box.must("df --output=avail -m / | tail -1")) > 1000, "the host's disk is not full, only the data disk"
    box.must("rm /data/big; echo more > /data/more")

    box.act("restart", "running")
    assert box.must("cat /data/more") == "more"
    _release_leaves_nothing(box)
    _release_leaves_nothing(rival)
    box.stack.manage("verify_ledger")


def test_the_agent_dies_and_its_container_lives_on(box: Box, engine: Any) -> None:
    box.rent(gpu_count=2)
    before = box.containers()
    box.stack.kill("agent-real")
    assert box.must("echo alive") == "alive"
    renting.act(box.client, box.instance, "restart")
    box.stack.restart("agent-real")
    box.instance = renting.wait_for_state(box.client, box.instance, "running")
    after = box.containers()
    assert len(after) == 1
    assert after[0]["Id"] == before[0]["Id"], "adopted and restarted, not made anew"
    _release_leaves_nothing(box)


def _rival_on(gpus: list[str], box: Box) -> Box:
    """Another renter's instance on just these GPUs, so that the next start must take others."""
    others = []
    for _ in range(3):
        rival = Box(box.stack, box.engine, box.stack.client("bob"), box.key).rent(gpu_count=1)
        if rival.gpus == gpus:
            break
        others.append(rival)
    for other in others:
        _release_leaves_nothing(other)
    assert rival.gpus == gpus
    return rival


def _check_container(box: Box) -> None:
    (found,) = box.containers()
    host, config = found["HostConfig"], found["Config"]
    ((cpu_millis, ram_mb),) = box.stack.sql(f"SELECT cpu_millis, ram_mb FROM instances_instance WHERE id = '{box.uuid}'")
    assert (host["NanoCpus"], host["Memory"]) == (cpu_millis * 1_000_000, ram_mb * 2**20)
    assert box.instance["cpu_cores"] == pytest.approx(cpu_millis / 1000, abs=0.05)
    assert box.instance["ram_gb"] == pytest.approx(ram_mb / 1024, abs=0.05)
    assert host["MemorySwap"] == host["Memory"]
    visible = next(line for line in config["Env"] if line.startswith("NVIDIA_VISIBLE_DEVICES="))
    assert sorted(visible.partition("=")[2].split(",")) == sorted(box.gpus)
    assert host["PidsLimit"] > 0
    assert host["CapDrop"] == ["ALL"]
    assert any(option.startswith("no-new-privileges") for option in host["SecurityOpt"])
    assert host["RestartPolicy"]["Name"] == "no"
    assert host["Privileged"] is False


def _release_leaves_nothing(box: Box) -> None:
    renting.release(box.client, box.instance)
    assert box.containers() == []
    assert not [net for net in box.engine.networks() if box.uuid in net["Name"]]
    assert not [image for image in box.engine.images(all=True) if box.uuid in str(image["RepoTags"])]
    assert box.uuid not in Path("/proc/mounts").read_text()
    state = box.stack.folder / "state-real"
    wait_until("the journal to forget", lambda: not paths_with(state, box.uuid))
