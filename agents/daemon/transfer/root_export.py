"""Export and import of root file systems, as archives of the engine.

A root is transferred as an image without a name. The target names it, so that no host can send another one an image
that passes for something else.
"""

import shutil
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from agents.daemon.docker_engine.container_spec import (
    HOST_LABEL,
    INSTANCE_LABEL,
    ROOT_MESSAGE,
    TRANSFER_LABEL,
    TRANSFER_REPOSITORY,
    UNASSIGNED_HOST,
    root_repository,
)
from agents.daemon.docker_engine.errors import convert_engine_errors
from agents.daemon.docker_engine.image_archives import chains_of, check_archive, packed_anew, parts_of
from agents.daemon.docker_engine.launch_spec import bare_config
from agents.daemon.docker_engine.runtime import DockerRuntime
from agents.daemon.engine.interface import EngineRefused, Runtime
from agents.daemon.engine.simulated import SimulatedRuntime
from agents.daemon.lib.chunk_manifest import ContentRange
from agents.daemon.lib.errors import Failed
from agents.daemon.lib.sizes import HEADROOM

NO_ROOM: Final = "The host has no room to pack what was installed."
NO_ROOM_HERE: Final = "The host has no room to unpack what was installed elsewhere."
_CONTENT_STORE: Final = ["driver-type", "io.containerd.snapshotter.v1"]  # an engine that keeps images in containerd

Progress = Callable[[int, int], None]


class RootStore(Protocol):
    """Root file systems of one host's instances."""

    def copy(self, source: str, target: str, number: int) -> None:
        """Copy the present root of `source`, which must not run, to the saved root `number` of `target`."""

    def export(self, source: str, target: str, transfer_id: str, path: Path, progress: Progress) -> None:
        """Write the root to a file for another host."""

    def parts(self, path: Path) -> tuple[ContentRange, ...]:
        """Return the layers in such a file, by their chain ids."""

    def hold(self, image: str, transfer_id: str) -> frozenset[str]:
        """Return the chain ids of the layers of `image` here, and keep them until `forget`; empty if missing."""

    def import_root(self, path: Path, target: str, number: int, *, most: int, held: Collection[str] = ()) -> None:
        """Import another host's file as the saved root `number` of `target`.

        Raises:
            Failed: It is something else, it unpacks to more than `most` bytes (0: no limit was told), or it names a
                layer that neither came with it nor is in `held`.
        """

    def is_there(self, target: str, number: int) -> bool: ...

    def delete(self, target: str, number: int) -> None:
        """Remove what `copy` or `import_root` made."""

    def forget(self, transfer_id: str) -> None:
        """Remove what `export` and `hold` left in the engine."""


class DockerRootStore:
    """Roots as committed images."""

    def __init__(self, runtime: DockerRuntime) -> None:
        self._runtime = runtime

    def copy(self, source: str, target: str, number: int) -> None:
        with self._engine() as engine:
            self._commit(engine, source, target, root_repository(target), str(number))

    def export(self, source: str, target: str, transfer_id: str, path: Path, progress: Progress) -> None:
        with self._engine() as engine:
            image = self._commit(
                engine, source, target, TRANSFER_REPOSITORY, transfer_id, label=f"{TRANSFER_LABEL}={transfer_id}"
            )
            total = int(engine.inspect_image(image)["Size"])
            # The engine writes the whole archive to its own disk before it sends the first byte.
            if min(self._runtime.free_image_bytes(), shutil.disk_usage(path.parent).free) < 2 * total + HEADROOM:
                raise Failed("disk_full", NO_ROOM)
            done, spare = 0, path.with_suffix(".new")
            with spare.open("wb") as file:
                for piece in engine.get_image(image):  # by its id, so that the archive holds no name
                    file.write(piece)
                    done += len(piece)
                    progress(done, max(done, total))
            spare.replace(path)

    def parts(self, path: Path) -> tuple[ContentRange, ...]:
        return parts_of(path)

    def hold(self, image: str, transfer_id: str) -> frozenset[str]:
        with self._engine() as engine:
            if _CONTENT_STORE in (engine.info().get("DriverStatus") or []):
                return frozenset()  # it reads every layer of an archive, also those that it has
        try:
            with self._engine() as engine:
                found = engine.inspect_image(image)
                engine.tag(found["Id"], TRANSFER_REPOSITORY, transfer_id)
        except EngineRefused as error:
            if not error.missing:
                raise
            return frozenset()
        return frozenset(chains_of((found.get("RootFS") or {}).get("Layers") or []))

    def import_root(self, path: Path, target: str, number: int, *, most: int, held: Collection[str] = ()) -> None:
        root = check_archive(path, target, most or sys.maxsize, held)
        # The engine unpacks it next to the layers that it makes from it.
        if self._runtime.free_image_bytes() < 2 * root.size + HEADROOM:
            raise Failed("disk_full", NO_ROOM_HERE)
        with self._engine() as engine:
            messages = list(engine.load_image(packed_anew(path, root), quiet=True))
            image = _loaded(messages)
            # As the engine has understood it: its JSON parser accepts "RootFS" for "rootfs" too.
            found = engine.inspect_image(image)
            labels, came = found["Config"]["Labels"] or {}, (found.get("RootFS") or {}).get("Layers") or []
            if labels.get(INSTANCE_LABEL) != target or came != list(root.digests):
                engine.remove_image(image)
                raise Failed("bad_parcel", "What arrived is not the root of this instance.")
            engine.tag(image, root_repository(target), str(number))

    def is_there(self, target: str, number: int) -> bool:
        return self._runtime.saved_root(target, number) is not None

    def delete(self, target: str, number: int) -> None:
        self._remove(f"{root_repository(target)}:{number}")

    def forget(self, transfer_id: str) -> None:
        self._remove(f"{TRANSFER_REPOSITORY}:{transfer_id}")
        with self._engine() as engine:
            nameless = engine.images(filters={"label": f"{TRANSFER_LABEL}={transfer_id}", "dangling": True})
        for image in nameless:
            self._remove(image["Id"])

    def _remove(self, image: str) -> None:
        try:
            with self._engine() as engine:
                engine.remove_image(image)
        except EngineRefused as error:
            if not error.missing:
                raise

    def _commit(self, engine: Any, source: str, target: str, repository: str, tag: str, *, label: str = "") -> str:
        """Commit the container's root and return the image's id."""
        own = max(self._runtime.containers(source), key=lambda item: item.generation, default=None)
        if own is None:
            raise Failed("root_missing", "The instance's container is gone from its host.")
        if own.status in ("running", "paused"):
            raise Failed("still_running", "The instance still runs on its host.")
        # Without labels of the source or of this host: images labelled with an instance are deleted with it.
        changes = f"LABEL {INSTANCE_LABEL}={target} {HOST_LABEL}={UNASSIGNED_HOST} {label}".rstrip()
        self._runtime.open_root(own.id)
        self._runtime.check_copy(own.id)
        conf = bare_config(engine, own.id)
        made = engine.commit(own.id, repository=repository, tag=tag, changes=changes, message=ROOT_MESSAGE, conf=conf)
        return str(made["Id"])

    @contextmanager
    def _engine(self) -> Iterator[Any]:
        with convert_engine_errors(), closing(self._runtime.engine()) as engine:
            yield engine


class SimulatedRootStore:
    """Roots of simulated containers, which are only remembered; a file with a few words is transferred."""

    def __init__(self, runtime: SimulatedRuntime) -> None:
        self._runtime = runtime

    def copy(self, source: str, target: str, number: int) -> None:
        self._runtime.simulate_transferred_root(target, number)

    def export(self, source: str, target: str, transfer_id: str, path: Path, progress: Progress) -> None:
        path.write_text(f"the simulated root of {source}")

    def parts(self, path: Path) -> tuple[ContentRange, ...]:
        return ()

    def hold(self, image: str, transfer_id: str) -> frozenset[str]:
        return frozenset()

    def import_root(self, path: Path, target: str, number: int, *, most: int, held: Collection[str] = ()) -> None:
        self._runtime.simulate_transferred_root(target, number)

    def is_there(self, target: str, number: int) -> bool:
        return self._runtime.saved_root(target, number) is not None

    def delete(self, target: str, number: int) -> None:
        self._runtime.clear(target)

    def forget(self, transfer_id: str) -> None:
        return None


def roots_of(runtime: Runtime) -> RootStore:
    if isinstance(runtime, DockerRuntime):
        return DockerRootStore(runtime)
    if isinstance(runtime, SimulatedRuntime):
        return SimulatedRootStore(runtime)
    raise TypeError(f"no roots of {runtime.kind}")


def _loaded(messages: list[dict[str, Any]]) -> str:
    for line in messages:
        words = str(line.get("stream", ""))
        if "Loaded image ID: " in words:
            return words.partition("Loaded image ID: ")[2].strip()
    raise EngineRefused(f"the engine did not take the image in: {messages[-1:]}")
