"""Interface to a container engine, the same for Docker and the simulation."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from agents.daemon.lib.journal import EndedBy
from agents.protocol.launch_messages import Launch
from agents.protocol.messages import DesiredInstance, LayerProgress
from agents.protocol.progress_messages import Said

Status = Literal["created", "running", "paused", "exited"]
RootLimit = Literal["disk", "none"]

SSH_PORT: Final = 22  # inside a container


@dataclass(frozen=True)
class Container:
    """One of this agent's containers; `started_at` is the engine's own timestamp, "" if never started."""

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
    root: int = 0  # number of its root file system
    fence: int = 0  # under which it was made
    detached: bool = False  # it runs without its network, which somebody on the host removed
    cut: str = ""  # why the host keeps it from being reached from outside; "" if it does not
    mend_due: bool = False  # its network should be made again now for that reason
    paused: bool = False  # somebody on the host has paused it, or had since the last look
    saving: bool = False  # the agent itself has its root copied, for which the engine pauses it
    reduced: str = ""  # which of its limits are, or were since the last look, below those ordered


@dataclass(frozen=True)
class Usage:
    """Counters of one container since its start; `ram_mb` and `sessions` are present values."""

    cpu_ns: int
    ram_mb: int
    rx_bytes: int
    tx_bytes: int
    oom_kills: int = 0
    sessions: int = 0  # open SSH connections


@dataclass(frozen=True)
class Bind:
    """Bind mount of a host folder in a container."""

    source: str
    target: str
    read_only: bool


@dataclass(frozen=True)
class ContainerOrder:
    """Order for a container: the desired instance, and what the agent itself decides."""

    desired: DesiredInstance
    image: str  # the desired image, or the saved root of an earlier container
    access_path: str
    data_path: str = ""  # "" if the instance has no data disk
    binds: tuple[Bind, ...] = ()  # volumes and public snapshots


def spec_of(desired: DesiredInstance) -> str:
    """Hash what a container cannot change after its creation."""
    parts = [
        desired.image,
        sorted(desired.gpu_uuids),
        desired.simulated_gpus,
        desired.cpu_millis,
        desired.ram_mb,
        desired.pids_limit,
        desired.data_disk_gb > 0,  # a disk grows in place
        sorted(desired.ports),
    ]
    if desired.system_disk_gb:
        parts.append(f"system disk {desired.system_disk_gb}")
    if not desired.has_ssh:  # the agent serves its SSH port, so no container publishes it
        parts.append("bridge")
    if desired.mounts:  # without any, the hash equals that of older agents
        parts.append(sorted((item.kind, item.id, item.name) for item in desired.mounts))
    if desired.udp_ports:
        parts.append(["udp", *sorted(desired.udp_ports)])
    if desired.launch is not None:
        parts.append(_launch_parts(desired.launch, desired.has_ssh))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _launch_parts(launch: Launch, has_ssh: bool) -> list[object]:
    """Return what a change of needs another container: secrets in a file, the start script and checks do not."""
    words = [launch.entrypoint, launch.command, launch.workdir, launch.user, launch.shm_mb]
    return ["launch", sorted(launch.env.items()), "" if has_ssh else launch.secrets_digest, *words]


class EngineSilent(Exception):
    """The engine did not answer: its state is unknown, so nothing may be concluded."""


class EngineRefused(Exception):
    """The engine answered with an error.

    `missing`: what was named does not exist. `conflict`: something else uses it.
    """

    def __init__(self, text: str, *, missing: bool = False, conflict: bool = False) -> None:
        super().__init__(text)
        self.missing = missing
        self.conflict = conflict


@dataclass(frozen=True)
class ImageFacts:
    """Facts about an image that the engine has."""

    architecture: str = ""
    engine_architecture: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    size_bytes: int = 0
    digest: str = ""  # in its registry; "" if it came from none


STALL_SECONDS = 120.0
TOTAL_SECONDS = 20 * 60.0
GIB = 1024**3
# Stays free on the engine's disk, whatever size an image declares or unpacks to: other instances need it too.
ROOM_KEPT = 2 * GIB

ProgressCallback = Callable[[Said, tuple[LayerProgress, ...]], None]


class PullStalled(Exception):
    """The image did not arrive within the limits."""


class InsufficientDiskSpace(Exception):
    """The image would fill the disk on which the engine keeps everything."""


@dataclass(frozen=True)
class ImageRequest:
    """Image to be pulled or pushed. `auth` is the registry's login, which is never stored or logged."""

    reference: str
    said: ProgressCallback
    auth: Mapping[str, str] = field(default_factory=dict, repr=False)
    stall_s: float = STALL_SECONDS
    total_s: float = TOTAL_SECONDS
    room: Callable[[], int] = field(default=lambda: ROOM_KEPT)  # returns the free bytes where the engine keeps images


class Runtime(Protocol):
    """Container engine. Calls raise EngineSilent or EngineRefused; each is safe to repeat."""

    @property
    def kind(self) -> Literal["docker", "simulated"]: ...

    @property
    def instant(self) -> bool:
        """Return whether calls return at once, so that actions may run in the loop's own thread."""

    def version(self) -> str: ...

    def containers(self, instance: str | None = None) -> list[Container]:
        """Return this host's own containers, running or not."""

    def reported(self, containers: Iterable[str]) -> None:
        """Forget what `paused` and `reduced` of these containers say of the past: it was reported."""

    def running_gpus(self) -> dict[str, str]:
        """Return GPU UUID → instance for all running containers of any agent on this machine."""

    def has_image(self, reference: str) -> bool: ...

    def pull_image(self, pull: ImageRequest, cancelled: threading.Event) -> None:
        """Pull an image; returns early when cancelled.

        Raises:
            EngineRefused: There is no such image, or it may not be read.
            PullStalled: It did not arrive within the limits.
            InsufficientDiskSpace: It would fill the disk.
        """

    def free_image_bytes(self) -> int:
        """Return the free bytes where the engine keeps images and containers."""

    def image_disk_bytes(self) -> int:
        """Return the size of the disk where the engine keeps images and containers."""

    def image_facts(self, reference: str) -> ImageFacts:
        """Return the facts about an image.

        Raises:
            EngineRefused: It is missing.
        """

    def save_image(self, container: str, reference: str) -> ImageFacts:
        """Save the container's root as an image of that name, without what identifies this instance."""

    def tag_image(self, reference: str, name: str) -> None:
        """Give another name to an existing image."""

    def push_image(self, push: ImageRequest, cancelled: threading.Event) -> str:
        """Push the image to the registry in its name and return its digest there; raises like `pull_image`."""

    def delete_image(self, reference: str) -> None:
        """Remove the name from the image, and the image if nothing else uses it; it may be missing."""

    def evict_image(self, reference: str) -> bool:
        """Remove an image that no container uses; return False and do nothing if one does.

        The image may be missing already.

        Raises:
            EngineRefused: The engine refuses it.
            EngineSilent: The engine does not answer.
        """

    def official_images(self) -> list[str]: ...

    def saved_root(self, instance: str, generation: int | None = None) -> str | None:
        """Return the saved root of `generation`, or the newest one."""

    def save_root(self, container: str, instance: str, generation: int) -> str: ...

    def remove_roots(self, instance: str, before: int) -> None:
        """Remove roots that were saved for earlier generations, as far as nothing is based on them."""

    def make_network(self, instance: str) -> None: ...

    def attach(self, container: str, instance: str) -> None:
        """Connect the container to the instance's network, which is recreated if it is gone or broken."""

    def create(self, order: ContainerOrder) -> str:
        """Create the container and return its id."""

    def start(self, container: str) -> None: ...

    def stop(self, container: str, grace_s: int) -> None: ...

    def warn(self, container: str) -> None:
        """Send SIGTERM to the renter's programs in the container that catch it, never to one that would die."""

    def rename(self, container: str, instance: str, generation: int) -> None: ...

    def remove(self, container: str) -> None: ...

    def clear(self, instance: str) -> None:
        """Remove the instance's network and saved roots."""

    def leftovers(self, instance: str) -> list[str]:
        """Return what the engine still has of the instance, in words; empty proves its absence."""

    def root_limit(self) -> RootLimit:
        """Return what limits the root file systems here: a disk of fixed size each, or nothing."""

    def visible_gpus(self, container: str) -> frozenset[str]:
        """Return the UUIDs of the GPUs that the running container really has."""

    def ssh_answers(self, host_port: int, container: str) -> bool:
        """Try once to read an SSH banner from the published port, or from inside where none is published."""

    def usage(self, container: Container) -> Usage | None: ...

    def who_ended(self, container: Container) -> EndedBy:
        """Return who ended the container: itself, someone on the host through the engine, or the engine.

        A container that this runtime has stopped since it last started it counts as ended by itself.
        """

    def secure(self) -> None:
        """Restore the host's firewall rules for the containers."""

    def keeps_ssh_list(self) -> bool:
        """Return whether `guard` can enforce allow lists for SSH."""

    def guard(self, wanted: Iterable[DesiredInstance]) -> None:
        """Restrict SSH of these instances to their allow lists; costs nothing if that is in force."""

    def watch(self, changed: Callable[[], None], stopped: threading.Event) -> None:
        """Call `changed` whenever a container of ours starts or ends, until `stopped`; may block until then."""

    def close(self) -> None:
        """End `watch` and release the engine; containers stay as they are."""
