"""A restore with real containers: what ran goes on in the same container, with no person needed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docker.conftest import Host
from tests.docker.engine_contents import containers_of
from tests.docker.test_whole_stack import Box
from tests.stack import renting
from tests.stack.conftest import open_folder
from tests.stack.harness import Stack
from tests.stack.test_restore import make_backup, restore, start_market, stop_market
from tests.waiting import wait_until

pytestmark = pytest.mark.docker


@pytest.fixture
def stack(services: None, engine: Any, image: str) -> Iterator[Stack]:
    stack = Stack(open_folder())
    try:
        stack.start()
        stack.run_module("tests.stack.seed", "image", "berth-test", image)
        places = ("--ports", "31000-31199", "--listen", "127.0.0.1", "--network-pool", "10.244.0.0/16")
        stack.enrol("real", "--runtime", "docker", "--simulate-gpus", "RTX 4090:4", *places)
        yield stack
    finally:
        _drop_what_is_kept(stack, engine)
        stack.stop()


def _drop_what_is_kept(stack: Stack, engine: Any) -> None:
    """Quarantine outlives the market: as the host's owner would, when the renter has had the data."""
    if "agent-real" in stack.processes:
        stack.kill("agent-real")
        Host(None, stack.folder / "state-real", engine).clean_up()  # type: ignore[arg-type]  # no market is asked


@pytest.fixture
def boxes(stack: Stack, engine: Any, ssh_key: Path) -> list[Box]:
    alice = stack.client("alice")
    key = ssh_key.with_suffix(".pub").read_text().strip()
    alice.post("/api/v1/ssh-keys", json={"name": "test", "public_key": key}).raise_for_status()
    return [Box(stack, engine, alice, ssh_key) for _ in range(4)]


def _run(box: Box) -> list[tuple[str, str]]:
    """Each container, by its id and the stamp of its last start."""
    return [(found["Id"], found["State"]["StartedAt"]) for found in box.containers()]


def test_fault_083_real_containers_converge_after_a_restore(stack: Stack, engine: Any, boxes: list[Box]) -> None:
    steady, restarted, stopped, late = boxes
    for box in (steady, restarted, stopped):
        box.rent(gpu_count=1, data_disk_gb=1)
    steady.must("echo kept > /data/kept; echo root > /root/kept; nohup sleep 100000 >/dev/null 2>&1 & echo $! > /root/pid")
    folder = make_backup(stack)
    restarted.act("restart", "running")
    stopped.act("stop", "stopped")
    late.rent(gpu_count=1, data_disk_gb=1)
    late.must("echo late > /data/late")
    before, late_gpu = {box.uuid: _run(box) for box in (steady, restarted)}, late.gpus[0]
    stop_market(stack)
    assert steady.must("cat /data/kept") == "kept", "a market that is away ends nothing"
    done = restore(stack, folder, "--replace")
    assert done.returncode == 0, done.stderr
    start_market(stack)
    client = stack.client("alice")
    wait_until("the host has agreed", lambda: stack.sql("SELECT 1 FROM marketplace_host WHERE NOT awaits_epoch"))
    for box, state in ((steady, "running"), (restarted, "running"), (stopped, "stopped")):
        box.client, box.instance = client, renting.wait_for_state(client, box.instance, state)
    assert {box.uuid: _run(box) for box in (steady, restarted)} == before, "the same containers, the same runs"
    assert steady.must("cat /data/kept /root/kept; kill -0 $(cat /root/pid) && echo alive") == "kept\nroot\nalive"
    wait_until("the unknown one is stopped", lambda: [c["State"]["Status"] for c in _late(engine, late)] == ["exited"])
    assert stack.sql(f"SELECT quarantined FROM marketplace_gpu WHERE uuid = '{late_gpu}'") == [[True]]
    assert renting.offer_of(client, "real")["gpu_free"] == 1
    assert (stack.folder / "state-real" / "disks" / f"{late.uuid.replace('-', '')}.ext4").exists(), "its data is kept"
    stack.manage("verify_ledger")
    for box in (steady, restarted, stopped):
        renting.release(client, box.instance)
    assert [c["State"]["Status"] for c in _late(engine, late)] == ["exited"]


def _late(engine: Any, late: Box) -> list[dict[str, Any]]:
    return containers_of(engine, late.uuid)
