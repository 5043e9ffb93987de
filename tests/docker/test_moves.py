"""Two engines as two hosts: an instance cloned on one, moved to the other with the way cut in the middle, nothing lost."""

import contextlib
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.docker.engine_contents import containers_of, paths_with
from tests.docker.second_engine import SecondEngine, build_tiny_image
from tests.stack import renting
from tests.stack.conftest import open_folder
from tests.stack.harness import Stack
from tests.waiting import wait_until

pytestmark = pytest.mark.docker

TINY = "berth/tiny:test"
PORTS = ("31000-31499", "31500-31999")
MEGABYTES = int(os.environ.get("BERTH_MOVE_MB", "160"))
BALLAST = 32  # megabytes of the image, which both hosts have
NO_SSH = "from storage.models import Image; Image.objects.filter(slug='tiny').update(has_ssh=False)"


@pytest.fixture
def there() -> Iterator[SecondEngine]:
    with SecondEngine() as engine:
        yield engine


@pytest.fixture
def other_engine(there: SecondEngine) -> Iterator[Any]:
    client = there.client()
    yield client
    client.close()


@pytest.fixture
def stack(services: None, engine: Any, there: SecondEngine) -> Iterator[Stack]:
    build_tiny_image(TINY, there.socket, ballast_mb=BALLAST)
    stack = Stack(open_folder())
    try:
        stack.start()
        stack.run_module("tests.stack.seed", "image", "tiny", TINY)
        stack.manage("shell", "-c", NO_SSH)
        own = ["--runtime", "docker", "--simulate-gpus", "RTX 4090:3"]
        stack.enrol("one", *own, "--ports", PORTS[0], "--listen", "127.0.0.1")
        stack.settings["DOCKER_HOST"] = there.socket
        stack.enrol("two", *own, "--ports", PORTS[1], "--listen", "127.0.0.1", "--address", there.address, price="2.40")
        del stack.settings["DOCKER_HOST"]
        yield stack
    finally:
        stack.stop()


class Side:
    """One host: its engine, asked past its agent, and its agent's folder."""

    def __init__(self, stack: Stack, name: str, engine: Any) -> None:
        self.name, self.engine, self.state = name, engine, stack.folder / f"state-{name}"

    def containers(self, instance: str) -> list[dict[str, Any]]:
        return containers_of(self.engine, instance)

    def running(self, instance: str) -> list[dict[str, Any]]:
        return [item for item in self.containers(instance) if item["State"]["Running"]]

    def put(self, instance: str, name: str, content: bytes) -> None:
        """As if the renter had installed something."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as writer:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            writer.addfile(entry, io.BytesIO(content))
        [container] = self.containers(instance)
        assert self.engine.put_archive(container["Id"], "/", archive.getvalue())

    def get(self, instance: str, name: str) -> bytes:
        [container] = self.containers(instance)
        pieces, _ = self.engine.get_archive(container["Id"], f"/{name}")
        with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as reader:
            file = reader.extractfile(name)
            assert file is not None
            return file.read()

    def disk(self, instance: str) -> Path:
        return self.state / "mounts" / instance

    def traces(self, instance: str) -> list[str]:
        images = self.engine.images(filters={"label": f"berth.instance={instance}"})
        return [*(item["Id"] for item in [*self.containers(instance), *images]), *paths_with(self.state, instance)]

    def note(self) -> int:
        """How many chunks have arrived, by the receiving agent's own note."""
        for path in (self.state / "moves").glob("*/note.json"):
            with contextlib.suppress(FileNotFoundError, ValueError):
                return int(json.loads(path.read_text())["next"])
        return 0


def checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def uuid_of(instance: dict[str, Any]) -> str:
    return str(instance["id"]).removeprefix("inst_")


def order(client: httpx.Client, instance: dict[str, Any], verb: str, body: dict[str, Any]) -> dict[str, Any]:
    reply = client.post(f"/api/v1/instances/{instance['id']}/{verb}", json=body)
    assert reply.is_success, reply.text
    answer: dict[str, Any] = reply.json()
    return answer


def moves(client: httpx.Client, instance: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/api/v1/instances/{instance['id']}/moves").json()["results"]
    return found


def test_fault_043_044_a_move_goes_on_after_a_cut_and_leaves_the_source_until_it_runs(
    stack: Stack, engine: Any, other_engine: Any, there: SecondEngine
) -> None:
    alice = stack.client("alice")
    one, two = Side(stack, "one", engine), Side(stack, "two", other_engine)
    offers = {name: renting.offer_of(alice, name) for name in ("one", "two")}
    size = max(1, -(-MEGABYTES * 3 // 2048))
    work = renting.rent(alice, offers["one"], image="tiny", data_disk_gb=size)
    renting.wait_for_state(alice, work, "running")
    key = uuid_of(work)
    with (one.disk(key) / "model.bin").open("wb") as file:
        for _ in range(MEGABYTES):
            file.write(os.urandom(1024 * 1024))
    model = checksum(one.disk(key) / "model.bin")
    one.put(key, "installed", b"by the renter")
    renting.act(alice, work, "stop")
    renting.wait_for_state(alice, work, "stopped")

    # A clone on the same host, killed in the middle of its copying and begun again.
    copy = order(alice, work, "clone", {"name": "twin"})
    wait_until("the copy to begin", lambda: list(one.state.glob(f"disks/{uuid_of(copy)}.*")), pause=0.002)
    stack.kill("agent-one")
    stack.restart("agent-one")
    renting.wait_for_state(alice, copy, "running", timeout=120)
    assert checksum(one.disk(uuid_of(copy)) / "model.bin") == model
    assert one.get(uuid_of(copy), "installed") == b"by the renter"
    assert len(one.running(uuid_of(copy))) == 1 and not one.running(key)
    renting.release(alice, copy)
    renting.wait_for_state(alice, work, "stopped")

    # To the other host: the relay goes in the middle, then the receiving agent.
    before = one.traces(key)
    order(alice, work, "migrate", {"offer": offers["two"]["id"]})
    wait_until("the first chunks", lambda: two.note() > 0, timeout=120, pause=0.002)
    stack.kill("relay")
    at_cut = two.note()
    stack.restart("relay")
    wait_until("more chunks", lambda: two.note() > at_cut or two.containers(key), timeout=120, pause=0.002)
    stack.kill("agent-two")
    assert one.traces(key)[: len(before)] and (one.state / "disks" / f"{key}.ext4").exists(), "the source is untouched"
    stack.settings["DOCKER_HOST"] = there.socket
    stack.restart("agent-two")
    del stack.settings["DOCKER_HOST"]
    moved = renting.wait_for_state(alice, work, "running", timeout=240)
    assert (moved["id"], moved["name"], moved["created_at"]) == (work["id"], work["name"], work["created_at"])
    assert moved["host"]["name"] == "two"
    assert checksum(two.disk(key) / "model.bin") == model
    assert two.get(key, "installed") == b"by the renter"
    assert len(two.running(key)) == 1 and not one.running(key)
    [done, *_] = moves(alice, work)
    assert done["checksum"] and done["failure"] is None
    assert done["cuts"] >= 1 and at_cut > 0
    [[outcome]] = stack.sql("SELECT outcome::text FROM storage_operation WHERE kind = 'receive_root'")
    assert int(json.loads(outcome)["resumed_at"]) > 0, "it went on where it was cut"
    assert int(json.loads(outcome)["bytes"]) < (MEGABYTES + BALLAST // 2) * 2**20, "the image's layers stayed at home"
    print(f"\n{MEGABYTES} MB: {done}; {outcome}; chunks at the cut: {at_cut}")
    wait_until("the source to be cleared", lambda: not one.traces(key), timeout=60)
    wait_until("the move to be over", lambda: moves(alice, work)[0]["state"] == "done", timeout=60)
    assert not list((two.state / "moves").glob("*")) and not list((one.state / "moves").glob("*"))

    # Back: the first host is reached at its own address, so nothing passes through the relay.
    renting.act(alice, work, "stop")
    renting.wait_for_state(alice, work, "stopped")
    order(alice, work, "migrate", {"offer": offers["one"]["id"]})
    renting.wait_for_state(alice, work, "running", timeout=240)
    [[way]] = stack.sql(
        "SELECT outcome->>'way' FROM storage_operation WHERE kind = 'receive_root' ORDER BY created_at DESC LIMIT 1"
    )
    assert way == "direct" and checksum(one.disk(key) / "model.bin") == model
    renting.release(alice, work)
    wait_until("both hosts to be cleared", lambda: not one.traces(key) and not two.traces(key), timeout=60)
    stack.manage("verify_ledger")
