"""Images on a real engine, from a registry over real HTTP: brought by digest with a login, refused, saved, sent."""

import io
import json
import os
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import docker
import pytest

from agents.daemon.disks.operation_runner import Operation
from agents.daemon.docker_engine.runtime import DockerRuntime
from agents.daemon.engine import image_cache
from agents.daemon.lib.errors import Failed
from agents.daemon.operations.save_image import SAVE, ImageOperations
from agents.protocol.messages import DesiredInstance, OperationOrder, PrefetchImage
from tests.docker.conftest import Host
from tests.storage.stub_registry import StubRegistry
from tests.waiting import wait_until

pytestmark = pytest.mark.docker  # one engine, one firewall
NewOrder = Callable[..., DesiredInstance]
PROGRAM = """
#include <stdlib.h>
#include <unistd.h>
int main(int n, char **v) { if (n > 1) return atoi(v[1]); for (;;) pause(); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Waits for ever, or ends with the code that it is given."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "p.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-static", "-Os", "-s", "-o", folder / "p", folder / "p.c"], check=True)
    return (folder / "p").read_bytes()


@pytest.fixture
def registry(engine: Any) -> Iterator[StubRegistry]:
    with StubRegistry() as running:
        yield running
    left = [image for image in engine.images() if any(running.host in name for name in image["RepoDigests"] or [])]
    for image in left:
        for container in engine.containers(all=True, filters={"ancestor": image["Id"]}):
            engine.remove_container(container["Id"], force=True)
        engine.remove_image(image["Id"], force=True)


@pytest.fixture
def own(registry: StubRegistry, host: Host, new_order: NewOrder) -> Callable[..., DesiredInstance]:
    """Orders for images of the stub."""
    host.config = replace(host.config, local_images=False)

    def make(repository: str, digest: str, **changes: Any) -> DesiredInstance:
        image = f"{registry.host}/{repository}@{digest}"
        return new_order(host, **{"image": image, "has_ssh": False, "data_disk_gb": 0, "ports": [], **changes})

    return make


def test_fault_038_an_image_with_a_login_runs_by_its_digest(
    host: Host, registry: StubRegistry, own: NewOrder, program: bytes
) -> None:
    layers = [{"p": program}, {"big": os.urandom(10_000_000)}]  # what the engine has already it would not load
    digest = registry.add("team/app", "v1", layers=layers, Cmd=["/p"], Env=["NVIDIA_REQUIRE_CUDA=cuda>=11.0"])
    registry.logins = {"ann": "hush-hush"}
    registry.held_halfway.add(registry.layers_of("team/app", "v1")[1])
    registry.add("team/app", "v1")  # the tag moves on; nobody cares
    order = own("team/app", digest, image_bytes=1_000_000, registry_auth={"username": "ann", "password": "hush-hush"})
    host.start()
    host.market.want(order)
    report = host.market.until(lambda report: any(layer.done_bytes for row in report.instances for layer in row.layers))
    assert "Loading the image" in report.instances[0].detail
    assert max(layer.total_bytes for layer in report.instances[0].layers) > 10_000_000
    registry.let_go.set()
    host.market.until_phase(order.id, "running", 1)
    found = host.inspect(order)
    assert found["Config"]["Tty"] is True
    assert "hush" not in json.dumps(found)
    assert not [path for path in host.state.rglob("*") if path.is_file() and b"hush" in path.read_bytes()]
    host.market.want(replace(order, run="gone", registry_auth={}))
    host.market.until_absent(order.id)
    assert host.leftovers(order) == []


def test_fault_037_each_refusal_is_told_and_frees_the_gpu(
    host: Host, registry: StubRegistry, own: NewOrder, program: bytes
) -> None:
    lasts: dict[str, Any] = {"layers": [{"p": program}], "Cmd": ["/p"]}
    secret = registry.add("team/secret", **lasts)
    orders = {
        "image_missing": own("team/none", "sha256:" + "0" * 64),
        "image_wrong_architecture": own("team/arm", registry.add("team/arm", architecture="arm64", **lasts)),
        "image_too_large": own("team/large", registry.add("team/large", **lasts), image_bytes=10**15),
        "image_needs_cuda": own(
            "team/cuda", registry.add("team/cuda", Env=["NVIDIA_REQUIRE_CUDA=cuda>=99.0 brand=tesla"], **lasts)
        ),
        "program_ended": own(
            "team/brief", registry.add("team/brief", layers=[{"p": program}], Cmd=["/p", "7"], Env=["A=1"])
        ),
        "registry_silent": replace(own("x/y", "sha256:" + "0" * 64), image="127.0.0.1:1/x/y@sha256:" + "0" * 64),
    }
    agent = host.start()
    agent.parts.steps.images.cuda = "12.4"
    for code, order in orders.items():
        host.market.want(order)
        row = host.market.until_phase(order.id, "failed", 1, patience=30)
        assert (row.failure_code, bool(row.detail)) == (code, True), row
    registry.logins = {"ann": "hush"}
    private = own("team/secret", secret)
    host.market.want(private)
    assert host.market.until_phase(private.id, "failed", 1, patience=30).failure_code == "image_private"
    # All of them wanted the same GPU: it is free.
    registry.logins = {}
    good = own("team/secret", secret)
    host.market.want(good)
    host.market.until_phase(good.id, "running", 1, patience=30)
    every = [*orders.values(), private, good]
    host.market.want(*(replace(item, run="gone") for item in every))
    host.market.until(lambda report: {item.id for item in every} <= set(report.absent))


def test_fault_036_a_pull_that_hangs_in_the_middle_ends(host: Host, registry: StubRegistry, own: NewOrder) -> None:
    digest = registry.add("team/slow", layers=[{"big": bytes(range(256)) * 4_000}])
    registry.hang_after[registry.layers_of("team/slow")[0]] = 100
    order = own("team/slow", digest)
    agent = host.start()
    agent.parts.steps.images.stall_s = 2.0
    host.market.want(order)
    row = host.market.until_phase(order.id, "failed", 1, patience=30)
    assert (row.failure_code, "No bytes" in row.detail) == ("image_pull_timeout", True)
    host.market.want(replace(order, run="gone"))
    host.market.until_absent(order.id)


class Killed(Exception):
    """The agent ends here."""


def _operation(**args: str) -> Operation:
    return Operation(OperationOrder("a" * 32, SAVE, args), lambda urgent: None)


def test_an_image_is_saved_sent_and_run_again(
    host: Host, registry: StubRegistry, own: NewOrder, program: bytes, engine: Any
) -> None:
    """Cut between its steps it goes on from what is there; the source leaves nothing behind, the image stays."""
    agent = host.start()
    runtime = agent.parts.runtime
    assert isinstance(runtime, DockerRuntime)
    order = own("team/app", registry.add("team/app", layers=[{"p": program}], Cmd=["/p"], Labels={"berth.services": "x"}))
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    engine.put_archive(host.inspect(order)["Id"], "/", _archive("saved", b"kept"))
    reference = f"berth-saved/{order.id}:1"
    kept = ImageOperations(runtime).save(_operation(instance=order.id, reference=reference, push=""))
    assert (kept["reference"], int(kept["size_bytes"]) >= len(program)) == (reference, True)
    labels = engine.inspect_image(reference)["Config"]["Labels"]
    assert {name: text for name, text in labels.items() if text} == {"berth.services": "x"}
    with StubRegistry() as market:
        market.logins = {"grant": "one-time"}
        args = {"instance": order.id, "reference": reference, "push": f"{market.host}/saved/x:1"}
        login = {"username": "grant", "password": "one-time"}
        with pytest.raises(Failed) as caught:
            ImageOperations(runtime).save(_operation(**args, username="grant", password="guess"))
        assert caught.value.code == "image_private"
        with pytest.raises(Killed):
            ImageOperations(runtime, checkpoint=_killer("image-pushed")).save(_operation(**args, **login))
        sent = ImageOperations(runtime).save(_operation(**args, **login))
        assert sent["reference"] == f"{market.host}/saved/x@{sent['digest']}"
        assert ("saved/x", sent["digest"]) in market.manifests
        assert not runtime.has_image(reference)
        host.market.want(replace(order, run="gone"))
        host.market.until_absent(order.id)
        assert host.leftovers(order) == []
        # Another host would bring it from the registry: so does this one, once it is dropped here.
        runtime.delete_image(f"{market.host}/saved/x:1")
        runtime.delete_image(sent["reference"])
        assert not runtime.has_image(sent["reference"])
        again = own("x", "", image=sent["reference"], registry_auth=login)
        host.market.want(again)
        host.market.until_phase(again.id, "running", 1)
        chunks, _ = engine.get_archive(host.inspect(again)["Id"], "/saved")
        assert b"kept" in b"".join(chunks)
        host.market.want(replace(again, run="gone"))
        host.market.until_absent(again.id)
        runtime.delete_image(sent["reference"])


def _archive(name: str, content: bytes) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        item = tarfile.TarInfo(name)
        item.size = len(content)
        archive.addfile(item, io.BytesIO(content))
    return whole.getvalue()


def _killer(at: str) -> Callable[[str], None]:
    def checkpoint(name: str) -> None:
        if name == at:
            raise Killed

    return checkpoint


def test_images_are_pulled_ahead_and_go_when_the_disk_is_full(
    host: Host, registry: StubRegistry, own: NewOrder, program: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_cache, "IN_USE_S", 0.0)
    digests = {name: registry.add(f"team/{name}", layers=[{"p": program}], Cmd=["/p"], Env=[f"A={name}"]) for name in "abc"}
    names = {name: f"{registry.host}/team/{name}@{digest}" for name, digest in digests.items()}
    host.engine.pull(names["c"])  # the owner's own
    host.market.streams = lambda: {"images": [PrefetchImage(names["a"]), PrefetchImage(f"{registry.host}/team/b:latest")]}
    host.config = replace(host.config, image_gc_percent=120)  # whatever else fills the disk of this machine
    host.start()
    wait_until("the image is there before anybody asks", lambda: _has(host, names["a"]))
    order = own("team/b", digests["b"])
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    host.stop()
    host.config = replace(host.config, image_gc_percent=1)
    host.market.streams = dict
    host.start()
    wait_until("the image that nobody uses goes", lambda: not _has(host, names["a"]))
    assert _has(host, names["b"])
    assert _has(host, names["c"])
    host.market.want(replace(order, run="stopped"))
    host.market.until_phase(order.id, "stopped", 1)
    host.market.want(replace(order, generation=2))
    host.market.until_phase(order.id, "running", 2)  # its image is there still: the registry was not asked again
    host.market.want(replace(order, generation=2, run="gone"))
    host.market.until_absent(order.id)
    assert host.leftovers(order) == []


def _has(host: Host, reference: str) -> bool:
    try:
        host.engine.inspect_image(reference)
    except docker.errors.ImageNotFound:
        return False
    return True
