"""A volume on a real engine: grown under its running instance, then carried to another host by a rent there, with a cut."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.docker.engine_contents import paths_with
from tests.docker.second_engine import build_tiny_image
from tests.docker.test_moves import NO_SSH, TINY, Side, checksum, uuid_of
from tests.stack import renting
from tests.stack.conftest import open_folder
from tests.stack.harness import Stack
from tests.waiting import wait_until

pytestmark = pytest.mark.docker

MEGABYTES = int(os.environ.get("BERTH_MOVE_MB", "96"))
GIB = 1024**3
BURST = 0.01


@pytest.fixture
def stack(services: None, engine: Any) -> Iterator[Stack]:
    """Two agents on one engine: volumes are files of their hosts, each with a folder of its own."""
    build_tiny_image(TINY)
    stack = Stack(open_folder())
    try:
        stack.start()
        stack.run_module("tests.stack.seed", "image", "tiny", TINY)
        stack.manage("shell", "-c", NO_SSH)
        own = ["--runtime", "docker", "--simulate-gpus", "RTX 4090:2", "--listen", "127.0.0.1"]
        stack.enrol("one", *own, "--ports", "32000-32249")
        stack.enrol("two", *own, "--ports", "32250-32499", price="2.40")
        yield stack
    finally:
        stack.stop()


def ask(client: httpx.Client, path: str, body: dict[str, Any] | None = None) -> Any:
    reply = client.post(f"/api/v1{path}", json=body or {})
    assert reply.is_success, reply.text
    return reply.json()


def volume_until(client: httpx.Client, volume: dict[str, Any], true: Callable[[dict[str, Any]], Any], what: str) -> Any:
    def found() -> dict[str, Any] | None:
        now: dict[str, Any] = client.get(f"/api/v1/volumes/{volume['id']}").raise_for_status().json()
        assert now["failure"] is None, now["failure"]
        return now if true(now) else None

    return wait_until(what, found, timeout=120)


def free_bytes(mount: Path) -> int:
    found = os.statvfs(mount)
    return found.f_blocks * found.f_frsize


def let_a_little_through(stack: Stack, arrived: Callable[[], int]) -> int:
    """The relay works in short bursts until something is safely on the other side; it is killed while it stands still."""
    relay = stack.processes["relay"].pid

    def burst() -> int:
        os.killpg(relay, signal.SIGCONT)
        time.sleep(BURST)
        os.killpg(relay, signal.SIGSTOP)
        return arrived()

    at_cut: int = wait_until("the first chunks", burst, timeout=120, pause=0)
    stack.kill("relay")
    return at_cut


def chunks(side: Side) -> int:
    """How many have arrived, by the receiving agent's own note."""
    for path in (side.state / "volumes" / "moves").glob("*/note.json"):
        with suppress(FileNotFoundError, ValueError):
            return int(json.loads(path.read_text())["next"])
    return 0


def test_a_volume_grows_in_use_and_goes_where_a_rent_wants_it(stack: Stack, engine: Any) -> None:
    alice = stack.client("alice")
    one, two = Side(stack, "one", engine), Side(stack, "two", engine)
    offers = {name: renting.offer_of(alice, name) for name in ("one", "two")}
    volume = ask(alice, "/volumes", {"name": "models", "host": offers["one"]["host"]["id"], "size_gb": 1})
    volume_until(alice, volume, lambda now: now["state"] == "ready", "the volume to be made")
    key = volume["id"].removeprefix("vol_")
    here, there = (side.state / "volumes" / "mounts" / key for side in (one, two))

    # In use on its host, and made larger meanwhile.
    quote = renting.quote(alice, offers["one"], image="tiny", data_disk_gb=1)
    first = ask(alice, "/instances", {"quote_id": quote["id"], "name": "first", "volume_ids": [volume["id"]]})
    renting.wait_for_state(alice, first, "running")
    with (here / "model.bin").open("wb") as file:
        for _ in range(MEGABYTES):
            file.write(os.urandom(1024 * 1024))
    model = checksum(here / "model.bin")
    began = one.running(uuid_of(first))[0]["State"]["StartedAt"]
    assert ask(alice, f"/volumes/{volume['id']}/resize", {"size_gb": 2})["growth"]["size_gb"] == 2
    volume_until(alice, volume, lambda now: now["size_gb"] == 2, "the volume to grow")
    assert one.running(uuid_of(first))[0]["State"]["StartedAt"] == began, "its instance went on"
    [[applied]] = stack.sql("SELECT outcome->>'applied' FROM storage_operation WHERE kind = 'grow_volume'")
    assert (free_bytes(here) > GIB) == (applied == "now")
    renting.act(alice, first, "stop")
    renting.wait_for_state(alice, first, "stopped")
    ask(alice, f"/volumes/{volume['id']}/detach")

    # Wanted on the other host: the GPUs wait for it. The relay is lost in the middle, then the receiving agent.
    stack.kill("relay", signal.SIGTERM)
    quote = renting.quote(alice, offers["two"], image="tiny", data_disk_gb=1)
    second = ask(alice, "/instances", {"quote_id": quote["id"], "name": "second", "volume_ids": [volume["id"]]})
    assert second["state"] == "copying"
    stack.restart("relay")
    at_cut = let_a_little_through(stack, lambda: chunks(two))
    assert not (two.state / "volumes" / "disks" / f"{key}.ext4").exists(), "under its own name only when it is whole"
    assert (one.state / "volumes" / "disks" / f"{key}.ext4").exists() and not two.containers(uuid_of(second))
    stack.kill("agent-two")
    stack.restart("agent-two")
    stack.restart("relay")
    renting.wait_for_state(alice, second, "running", timeout=120)
    assert checksum(there / "model.bin") == model
    assert GIB < free_bytes(there) < 2 * GIB
    done = volume_until(alice, volume, lambda now: now["move"] is None, "the old host to be cleared")
    assert (done["host"]["name"], done["attached_to"]) == ("two", second["id"])
    assert not [path for path in paths_with(one.state, key) if Path(path).is_file()] and not here.exists()
    [[outcome]] = stack.sql("SELECT outcome::text FROM storage_operation WHERE kind = 'receive_volume'")
    result = json.loads(outcome)
    assert at_cut > 0 and int(result["cuts"]) >= 1 and int(result["resumed_at"]) > 0, "it went on where it was cut"
    print(f"\n{MEGABYTES} MB: {result}; chunks at the cut: {at_cut}; grown {applied}")

    for instance in (first, second):
        renting.release(alice, instance)
    assert alice.delete(f"/api/v1/volumes/{volume['id']}").is_success
    wait_until("the volume to be gone", lambda: alice.get(f"/api/v1/volumes/{volume['id']}").is_error)
    assert not paths_with(two.state, key) and not paths_with(one.state, key)
    stack.manage("verify_ledger")
