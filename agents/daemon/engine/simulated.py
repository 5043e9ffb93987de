"""Simulated containers for development and tests; they survive the agent, but no reboot."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from agents.daemon.engine.interface import (
    Container,
    ContainerOrder,
    EngineRefused,
    ImageFacts,
    ImageRequest,
    RootLimit,
    Status,
    Usage,
    spec_of,
)
from agents.daemon.lib.journal import EndedBy
from agents.protocol.messages import DesiredInstance

VERSION = "simulated-1"
OFFICIAL_IMAGE = "berth/base:1"
KILLED = 137
PREFIX = "sim"  # of a container's id
MOST_LINES = 1_000  # after which the file is rewritten
SIMULATED_ROOM = 4000 * 1000**3
SIMULATED_IMAGE = 420 * 1000**2
Change = Mapping[str, object]
_BOOT_FILE = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class _Made:
    """One simulated container; times are of the kernel's monotonic clock, which outlives this process."""

    id: str
    instance: str
    generation: int
    spec: str
    gpu_uuids: tuple[str, ...]
    cpu_millis: int
    ram_mb: int
    status: Status = "created"
    started_at: str = ""
    begun: float = 0.0
    exit_code: int = 0
    out_of_memory: bool = False
    ended_by: EndedBy = "itself"
    before_boot: bool = False
    warned: int = 0
    root: int = 0
    fence: int = 0


class SimulatedRuntime:
    """Keeps its containers in one file of the state folder: one line per change, compacted now and then."""

    kind: Literal["simulated"] = "simulated"
    instant = True

    def __init__(self, path: Path, *, boot: str | None = None) -> None:
        self._path = path
        self._boot = boot if boot is not None else _BOOT_FILE.read_text().strip()
        self._lock = threading.Lock()
        self._changed: Callable[[], None] = lambda: None
        self._made: dict[str, _Made] = {}
        self._roots: dict[str, int] = {}
        self._count = 0
        self._lines = 0
        self._load()

    def version(self) -> str:
        return VERSION

    def containers(self, instance: str | None = None) -> list[Container]:
        with self._lock:
            return [_shown(item) for item in self._made.values() if instance in (None, item.instance)]

    def reported(self, containers: Iterable[str]) -> None:
        """Do nothing: simulated containers are never paused."""

    def running_gpus(self) -> dict[str, str]:
        with self._lock:
            alive = [item for item in self._made.values() if item.status == "running"]
        return {uuid: item.instance for item in alive for uuid in item.gpu_uuids}

    def has_image(self, reference: str) -> bool:
        return True

    def pull_image(self, pull: ImageRequest, cancelled: threading.Event) -> None:
        return None

    def free_image_bytes(self) -> int:
        return SIMULATED_ROOM

    def image_disk_bytes(self) -> int:
        return SIMULATED_ROOM

    def image_facts(self, reference: str) -> ImageFacts:
        return ImageFacts(size_bytes=SIMULATED_IMAGE)

    def save_image(self, container: str, reference: str) -> ImageFacts:
        """Save nothing: every image exists on a simulated host."""
        with self._lock:
            self._find(container)
        return self.image_facts(reference)

    def tag_image(self, reference: str, name: str) -> None:
        return None

    def push_image(self, push: ImageRequest, cancelled: threading.Event) -> str:
        return ""

    def delete_image(self, reference: str) -> None:
        return None

    def evict_image(self, reference: str) -> bool:
        return True

    def official_images(self) -> list[str]:
        return [OFFICIAL_IMAGE]

    def saved_root(self, instance: str, generation: int | None = None) -> str | None:
        with self._lock:
            saved = self._roots.get(instance)
        return None if saved is None or generation not in (None, saved) else f"berth-root/{instance}:{saved}"

    def save_root(self, container: str, instance: str, generation: int) -> str:
        with self._lock:
            self._find(container)
            self._set_root(instance, generation)
        return f"berth-root/{instance}:{generation}"

    def remove_roots(self, instance: str, before: int) -> None:
        with self._lock:
            if self._roots.get(instance, before) < before:
                self._set_root(instance, None)

    def simulate_transferred_root(self, instance: str, generation: int) -> None:
        """Simulate that the root came from another instance or another host."""
        with self._lock:
            self._set_root(instance, generation)

    def attach(self, container: str, instance: str) -> None:
        return None

    def make_network(self, instance: str) -> None:
        return None

    def create(self, order: ContainerOrder) -> str:
        desired = order.desired
        with self._lock:
            if any((item.instance, item.generation) == (desired.id, desired.generation) for item in self._made.values()):
                raise EngineRefused(f"the name berth-{desired.id}-{desired.generation} is taken")
            self._count += 1
            made = _Made(
                id=f"{PREFIX}{self._count:09d}",
                instance=desired.id,
                generation=desired.generation,
                spec=spec_of(desired),
                gpu_uuids=tuple(desired.gpu_uuids),
                cpu_millis=desired.cpu_millis,
                ram_mb=desired.ram_mb,
                root=desired.root,
                fence=desired.fence,
            )
            self._put(made)
        return made.id

    def start(self, container: str) -> None:
        with self._lock:
            made = self._find(container)
            if made.status != "running":
                now, begun = str(time.time_ns()), time.monotonic()
                self._put(replace(made, status="running", started_at=now, begun=begun, before_boot=False, ended_by="itself"))

    def stop(self, container: str, grace_s: int) -> None:
        with self._lock:
            if container in self._made and self._made[container].status == "running":
                self._put(replace(self._made[container], status="exited"))

    def warn(self, container: str) -> None:
        with self._lock:
            made = self._find(container)
            self._put(replace(made, warned=made.warned + 1))

    def warnings(self, container: str) -> int:
        """Return how often the container was warned (for tests)."""
        with self._lock:
            return self._find(container).warned

    def kill(self, container: str, *, out_of_memory: bool = False, ended_by: EndedBy = "itself") -> None:
        """Simulate that the container ended, by itself or by someone else (for tests and demonstrations)."""
        with self._lock:
            made = self._find(container)
            ended = replace(made, status="exited", exit_code=KILLED, out_of_memory=out_of_memory, ended_by=ended_by)
            self._put(ended)
        self._changed()

    def rename(self, container: str, instance: str, generation: int) -> None:
        with self._lock:
            self._put(replace(self._find(container), generation=generation))

    def remove(self, container: str) -> None:
        with self._lock:
            if self._made.pop(container, None) is not None:
                self._append({"removed": container})

    def clear(self, instance: str) -> None:
        with self._lock:
            if instance in self._roots:
                self._set_root(instance, None)

    def leftovers(self, instance: str) -> list[str]:
        root = self.saved_root(instance)
        return [*(f"container {item.id}" for item in self.containers(instance)), *([f"image {root}"] if root else [])]

    def root_limit(self) -> RootLimit:
        return "disk"  # what a host with system disks reports

    def visible_gpus(self, container: str) -> frozenset[str]:
        with self._lock:
            return frozenset(self._find(container).gpu_uuids)

    def ssh_answers(self, host_port: int, container: str) -> bool:
        return True

    def usage(self, container: Container) -> Usage | None:
        """Return a constant third of the container's share."""
        with self._lock:
            made = self._made.get(container.id)
        if made is None:
            return None
        busy_ns = int(container.run_seconds * made.cpu_millis * 1_000_000 / 3)
        moved = int(container.run_seconds * 50_000)
        return Usage(cpu_ns=busy_ns, ram_mb=made.ram_mb // 3, rx_bytes=moved, tx_bytes=moved // 2)

    def who_ended(self, container: Container) -> EndedBy:
        with self._lock:
            return self._find(container.id).ended_by

    def secure(self) -> None:
        return None

    def keeps_ssh_list(self) -> bool:
        return True

    def guard(self, wanted: Iterable[DesiredInstance]) -> None:
        """Do nothing, since nothing can be reached."""

    def watch(self, changed: Callable[[], None], stopped: threading.Event) -> None:
        self._changed = changed

    def close(self) -> None:
        return None

    def _find(self, container: str) -> _Made:
        if container not in self._made:
            raise EngineRefused(f"no such container: {container}", missing=True)
        return self._made[container]

    def _put(self, made: _Made) -> None:
        self._made[made.id] = made
        self._append({"made": vars(made)})

    def _set_root(self, instance: str, generation: int | None) -> None:
        if generation is None:
            del self._roots[instance]
        else:
            self._roots[instance] = generation
        self._append({"root": [instance, generation]})

    def _append(self, change: Change) -> None:
        self._lines += 1
        if self._lines > MOST_LINES:
            self._rewrite()
            return
        with self._path.open("a") as file:
            file.write(_line(change))

    def _rewrite(self) -> None:
        """Write the whole state again, in as few lines as possible."""
        made: list[Change] = [{"made": vars(item)} for item in self._made.values()]
        roots: list[Change] = [{"root": [instance, generation]} for instance, generation in self._roots.items()]
        head: Change = {"boot": self._boot, "count": self._count}
        spare = self._path.with_suffix(".new")
        spare.write_text("".join(_line(change) for change in (head, *made, *roots)))
        spare.replace(self._path)
        self._lines = 0

    def _load(self) -> None:
        boot = self._boot
        for change in _changes(self._path):
            match change:
                case {"boot": boot, "count": count}:
                    self._count = count
                case {"made": item}:
                    made = _Made(**{**item, "gpu_uuids": tuple(item["gpu_uuids"])})
                    self._made[made.id] = made
                    self._count = max(self._count, int(made.id.removeprefix(PREFIX)))
                case {"removed": container}:
                    self._made.pop(container, None)
                case {"root": [instance, None]}:
                    self._roots.pop(instance, None)
                case {"root": [instance, generation]}:
                    self._roots[instance] = generation
        if boot != self._boot:
            ended = [item for item in self._made.values() if item.status == "running"]
            self._made |= {item.id: replace(item, status="exited", exit_code=KILLED, before_boot=True) for item in ended}
        self._rewrite()


def _line(change: Change) -> str:
    return json.dumps(change) + "\n"


def _changes(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the complete changes; the last line may be torn."""
    for line in path.read_text().splitlines() if path.exists() else ():
        with suppress(ValueError):
            yield json.loads(line)


def _shown(made: _Made) -> Container:
    return Container(
        id=made.id,
        instance=made.instance,
        generation=made.generation,
        status=made.status,
        spec=made.spec,
        gpu_uuids=made.gpu_uuids,
        started_at=made.started_at,
        run_seconds=time.monotonic() - made.begun if made.status == "running" else 0.0,
        exit_code=made.exit_code,
        out_of_memory=made.out_of_memory,
        before_boot=made.before_boot,
        root=made.root,
        fence=made.fence,
    )
