"""What the agent asks of a container engine, so that Docker and the simulation go through the same steps."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from agents.daemon.engine.image_request import Pull
from agents.daemon.lib.journal import EndedBy
from agents.protocol.messages import DesiredInstance

Status = Literal["created", "running", "paused", "exited"]
RootLimit = Literal["disk", "none"]

SSH_PORT: Final = 22  # inside a container


@dataclass(frozen=True)
class Container:
    """One of this agent's containers as the engine shows it; `started_at` is the engine's own stamp, "" if never started."""

    id: str
    instance: str
    generation: int
    status: Status
    spec: str
    gpu_uuids: tuple[str, ...] = ()
    started_at: str = ""
    run_seconds: float = 0.0
    exit_code: int = 0
    out_of_memory: bool = False
    before_boot: bool = False  # started before the machine's last boot
    pid: int = 0
    root: int = 0  # number of the root file system that it stands on
    fence: int = 0  # that it was made under
    detached: bool = False  # it runs without its network, which somebody on the host took away
    cut: str = (
        ""  # why nobody outside can reach it, by the host's doing; "" when they can, or when the renter's programs do it
    )
    mend_due: bool = False  # it is time to make its network anew for that


@dataclass(frozen=True)
class Usage:
    """Counters of one container since its start, but for `ram_mb` and `sessions`, which are as they are now."""

    cpu_ns: int
    ram_mb: int
    rx_bytes: int
    tx_bytes: int
    oom_kills: int = 0
    sessions: int = 0  # SSH connections that are open


@dataclass(frozen=True)
class Bind:
    """A folder of the host in a container."""

    source: str
    target: str
    read_only: bool


@dataclass(frozen=True)
class ContainerOrder:
    """A container to be made: the desired instance, and what the agent itself decides about it."""

    desired: DesiredInstance
    image: str  # the desired image, or the saved root of an earlier container
    access_path: str
    data_path: str = ""  # "" when the instance has no data disk
    binds: tuple[Bind, ...] = ()  # volumes and public data sets


def spec_of(desired: DesiredInstance) -> str:
    """Hash what a container cannot change after its creation."""
    parts = [
        desired.image,
        sorted(desired.gpu_uuids),
        desired.simulated_gpus,
        desired.cpu_millis,
        desired.ram_mb,
        desired.pids_limit,
        desired.data_disk_gb > 0,  # it grows in place
        sorted(desired.ports),
    ]
    if desired.system_disk_gb:
        parts.append(f"system disk {desired.system_disk_gb}")
    if not desired.has_ssh:  # its SSH port is the agent's, and published by no container
        parts.append("bridge")
    if desired.mounts:  # without any the hash stays what it was
        parts.append(sorted((item.kind, item.id, item.name) for item in desired.mounts))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


class EngineSilent(Exception):
    """The engine did not answer: nothing is known, so nothing may be concluded."""


class EngineRefused(Exception):
    """The engine answered no; `missing` when the thing named does not exist, `conflict` when something else uses it."""

    def __init__(self, text: str, *, missing: bool = False, conflict: bool = False) -> None:
        super().__init__(text)
        self.missing = missing
        self.conflict = conflict


@dataclass(frozen=True)
class ImageFacts:
    """What the engine knows of an image that it has."""

    architecture: str = ""
    engine_architecture: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    size_bytes: int = 0
    digest: str = ""  # in its registry; "" when it came from none


class Runtime(Protocol):
    """A container engine. Calls raise EngineSilent or EngineRefused; each is safe to repeat."""

    @property
    def kind(self) -> Literal["docker", "simulated"]: ...

    @property
    def instant(self) -> bool:
        """Every call returns at once, so actions run in the loop's own thread."""

    def version(self) -> str: ...

    def containers(self, instance: str | None = None) -> list[Container]:
        """This host's own containers, running or not."""

    def running_gpus(self) -> dict[str, str]:
        """GPU UUID → instance for every running container of any agent on this machine."""

    def has_image(self, reference: str) -> bool: ...

    def pull_image(self, pull: Pull, cancelled: threading.Event) -> None:
        """Raises EngineRefused (no such image), PullStalled or NoRoom; returns early when cancelled."""

    def image_room(self) -> int:
        """Bytes free where the engine keeps images and containers."""

    def image_disk_bytes(self) -> int:
        """Return the size of the disk where the engine keeps images and containers."""

    def image_facts(self, reference: str) -> ImageFacts:
        """Raises EngineRefused (missing) for one that is not there."""

    def save_image(self, container: str, reference: str) -> ImageFacts:
        """The container's root file system as an image of that name, without what makes it this instance's."""

    def tag_image(self, reference: str, name: str) -> None:
        """One more name for an image that is there."""

    def push_image(self, push: Pull, cancelled: threading.Event) -> str:
        """Send the image to the registry in its name; its digest there. Raises like `pull_image`."""

    def drop_image(self, reference: str) -> None:
        """Take the name from the image, and the image itself when nothing else uses it. One that is not there is fine."""

    def evict_image(self, reference: str) -> bool:
        """Remove an image that no container stands on; False, and nothing is done, for one that has some.

        One that is not there is fine. Raises EngineRefused, EngineSilent.
        """

    def official_images(self) -> list[str]: ...

    def saved_root(self, instance: str, generation: int | None = None) -> str | None:
        """The saved root made for `generation`, or the newest one."""

    def save_root(self, container: str, instance: str, generation: int) -> str: ...

    def drop_roots(self, instance: str, before: int) -> None:
        """Remove the roots that were saved for generations before this one, as far as nothing stands on them."""

    def make_network(self, instance: str) -> None: ...

    def attach(self, container: str, instance: str) -> None:
        """Have the container in the instance's network, which is made anew if it is gone or does not lead to it."""

    def create(self, order: ContainerOrder) -> str:
        """The new container's id."""

    def start(self, container: str) -> None: ...

    def stop(self, container: str, grace_s: int) -> None: ...

    def warn(self, container: str) -> None:
        """SIGTERM to every program of the renter's in the running container that catches it; never to one that would die."""

    def rename(self, container: str, instance: str, generation: int) -> None: ...

    def remove(self, container: str) -> None: ...

    def clear(self, instance: str) -> None:
        """Remove the instance's network and saved roots."""

    def leftovers(self, instance: str) -> list[str]:
        """What is left of the instance in the engine, in words; empty is the proof of absence."""

    def root_limit(self) -> RootLimit:
        """What bounds the root file systems here: a disk of fixed size for each, or nothing."""

    def visible_gpus(self, container: str) -> frozenset[str]:
        """The GPU UUIDs that the running container really has."""

    def ssh_answers(self, host_port: int, container: str) -> bool:
        """One try to read an SSH banner from the published port; from inside where none is published."""

    def usage(self, container: Container) -> Usage | None: ...

    def who_ended(self, container: Container) -> EndedBy:
        """Its first process by itself, someone on the host through the engine, or the end of the engine.

        What this runtime was told to stop since it last started it counts as ended by itself.
        """

    def secure(self) -> None:
        """Assert the host's firewall around the containers again."""

    def keeps_ssh_list(self) -> bool:
        """Whether `guard` can keep SSH from those who are not on an instance's list."""

    def guard(self, wanted: Iterable[DesiredInstance]) -> None:
        """Let SSH of these be reached from where they allow it alone. Costs nothing while it is so."""

    def watch(self, changed: Callable[[], None], stopped: threading.Event) -> None:
        """Call `changed` whenever a container of ours starts or ends, until `stopped`. May block until then."""

    def close(self) -> None:
        """End `watch` and let go of the engine. Containers stay as they are."""
