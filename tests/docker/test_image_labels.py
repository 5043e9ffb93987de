"""An image that bears Berth's own labels, as its renter wrote them: nothing that the agent reads comes from an image."""

import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agents.daemon.disks.limited_runtime import LimitedRuntime
from agents.daemon.disks.system_disks import SystemDisks
from agents.daemon.docker_engine.container_spec import EngineOptions
from agents.daemon.docker_engine.storage_driver import pull
from agents.daemon.engine.interface import EngineRefused, ImageRequest
from agents.daemon.operations.rclone_container import DockerSyncContainers
from agents.protocol.messages import DesiredInstance
from tests.docker.conftest import Host

pytestmark = pytest.mark.docker


@pytest.fixture
def labelled(image: str) -> Iterator[Callable[..., str]]:
    """Make an image with these labels, and remove it at the end."""
    made: list[str] = []

    def make(**labels: str) -> str:
        tag = f"berth/labelled:{uuid.uuid4().hex}"
        words = " ".join(f'"berth.{name.replace("__", "-")}"="{value}"' for name, value in labels.items())
        recipe = f"FROM {image}\nLABEL {words}\n"
        subprocess.run(["docker", "build", "-q", "-t", tag, "-"], input=recipe, text=True, check=True, capture_output=True)
        made.append(tag)
        return tag

    yield make
    for tag in made:
        subprocess.run(["docker", "rmi", "--force", tag], check=False, capture_output=True)


def run(host: Host, order: DesiredInstance) -> None:
    host.market.want(order)
    host.market.until_phase(order.id, "running", order.generation)


def release(host: Host, order: DesiredInstance) -> None:
    host.market.want(replace(order, run="gone"))
    host.market.until_absent(order.id)


def test_names_no_limit_and_no_copying(
    host: Host, order: DesiredInstance, labelled: Callable[..., str], tmp_path: Path
) -> None:
    """A limit that is no number ended the watch over all roots of the host; a copy to storage that nobody ordered is
    removed at the agent's next start."""
    own = host.config.host_id
    image = labelled(system_disk_gb="many", sync="anything", sync__host=own, parcel="anything")
    host.start()
    run(host, replace(order, image=image, has_ssh=True))
    with closing(LimitedRuntime(EngineOptions(own), SystemDisks(tmp_path, sparse=True), tmp_path)) as runtime:
        assert runtime.written() == []
        assert DockerSyncContainers(runtime).present() == []
    release(host, order)


def test_names_no_other_instance(
    host: Host, order: DesiredInstance, new_order: Callable[..., DesiredInstance], labelled: Callable[..., str]
) -> None:
    """What bears an instance's name counted as its root: it could not be released while another one used that image."""
    assert host.start()
    other = new_order(host, gpu_uuids=[], image=labelled(instance=order.id, host=host.config.host_id))
    run(host, other)
    run(host, order)
    release(host, order)
    assert host.engine.images(name=other.image)
    release(host, other)


@pytest.mark.parametrize(
    "name", ["berth-root/{id}:2", "docker.io/berth-root/{id}:2", "berth-root/{id}@sha256:" + "0" * 64, "berth-parcel:2"]
)
def test_no_image_is_brought_under_a_name_that_saved_roots_have(host: Host, order: DesiredInstance, name: str) -> None:
    """Anybody may own a namespace of that name at a registry."""
    wanted = ImageRequest(name.format(id=order.id), said=lambda *_: None)
    with pytest.raises(EngineRefused, match="gives to images itself"):
        pull(host.engine, wanted, threading.Event())
