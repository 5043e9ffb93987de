"""Root file systems on their way: an instance's root taken out of the engine as a file, and such a file taken in.

A root travels as an image without any name. Whoever takes it in names it, so that no host can give another one an image
that passes for something else.
"""

import json
import os
import shutil
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any, Final, Protocol

from agents.daemon.docker_runtime import DockerRuntime
from agents.daemon.docker_spec import HOST_LABEL, INSTANCE_LABEL, ROOT_MESSAGE, root_repository
from agents.daemon.engine_words import engine_answers
from agents.daemon.jobs import Failed
from agents.daemon.runtime import EngineRefused, Runtime
from agents.daemon.simulated_runtime import SimulatedRuntime
from agents.daemon.volumes import HEADROOM

PARCELS: Final = "berth-parcel"
PARCEL_LABEL: Final = "berth.parcel"  # one that was packed twice, by an agent that was killed meanwhile, keeps no name
NO_ROOM: Final = "The host has no room to pack what was installed."
NO_ROOM_HERE: Final = "The host has no room to unpack what was installed elsewhere."
TOO_LARGE: Final = "What arrives is larger than an image and a system disk can be."
GZIP: Final = b"\x1f\x8b"
_GZIP: Final = 16 + zlib.MAX_WBITS  # with its head and its checksum
_COMPRESSED: Final = (b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh")  # zstd, xz, bzip2
_LONGEST_MAGIC: Final = 6
_PIECE: Final = 1024 * 1024
_LARGEST_LIST: Final = 4 * 1024 * 1024  # of an image's layers and of its configuration

Progress = Callable[[int, int], None]


class Roots(Protocol):
    """The root file systems of one host's instances."""

    def copy(self, source: str, target: str, number: int) -> None:
        """The present root of `source`, which does not run, as the saved root `number` of `target`, on the same host."""

    def take_out(self, source: str, target: str, parcel: str, path: Path, progress: Progress) -> None:
        """The same as a file for another host."""

    def take_in(self, path: Path, target: str, number: int, *, most: int) -> None:
        """A file of another host as the saved root `number` of `target`. Raises Failed for anything else, and for one that
        unpacks to more than `most` bytes (0: no limit was told)."""

    def is_there(self, target: str, number: int) -> bool: ...

    def drop(self, target: str, number: int) -> None:
        """Remove what `copy` or `take_in` made."""

    def forget(self, parcel: str) -> None:
        """Remove what `take_out` left in the engine."""


class DockerRoots:
    """Roots as committed images."""

    def __init__(self, runtime: DockerRuntime) -> None:
        self._runtime = runtime

    def copy(self, source: str, target: str, number: int) -> None:
        with self._engine() as engine:
            self._commit(engine, source, target, root_repository(target), str(number))

    def take_out(self, source: str, target: str, parcel: str, path: Path, progress: Progress) -> None:
        with self._engine() as engine:
            image = self._commit(engine, source, target, PARCELS, parcel, label=f"{PARCEL_LABEL}={parcel}")
            total = int(engine.inspect_image(image)["Size"])
            # The engine writes it out whole, in a place of its own, before it gives the first byte.
            if min(self._runtime.image_room(), shutil.disk_usage(path.parent).free) < 2 * total + HEADROOM:
                raise Failed("disk_full", NO_ROOM)
            done, spare = 0, path.with_suffix(".new")
            with spare.open("wb") as file:
                for piece in engine.get_image(image):  # by its id: without any name in it
                    file.write(piece)
                    done += len(piece)
                    progress(done, max(done, total))
            spare.replace(path)

    def take_in(self, path: Path, target: str, number: int, *, most: int) -> None:
        size = _check_archive(path, target, most or sys.maxsize)
        if self._runtime.image_room() < 2 * size + HEADROOM:  # the engine unpacks it beside the layers that it makes of it
            raise Failed("disk_full", NO_ROOM_HERE)
        with self._engine() as engine, path.open("rb") as file:
            told = list(engine.load_image(file, quiet=True))
            image = _loaded(told)
            labels = engine.inspect_image(image)["Config"]["Labels"] or {}
            if labels.get(INSTANCE_LABEL) != target:
                raise Failed("bad_parcel", "What arrived is not the root of this instance.")
            engine.tag(image, root_repository(target), str(number))

    def is_there(self, target: str, number: int) -> bool:
        return self._runtime.saved_root(target, number) is not None

    def drop(self, target: str, number: int) -> None:
        self._remove(f"{root_repository(target)}:{number}")

    def forget(self, parcel: str) -> None:
        self._remove(f"{PARCELS}:{parcel}")
        with self._engine() as engine:
            nameless = engine.images(filters={"label": f"{PARCEL_LABEL}={parcel}", "dangling": True})
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
        """The id of the image made."""
        own = max(self._runtime.containers(source), key=lambda item: item.generation, default=None)
        if own is None:
            raise Failed("root_missing", "The instance's container is gone from its host.")
        if own.status in ("running", "paused"):
            raise Failed("still_running", "The instance still runs on its host.")
        # No image of another instance: what is labelled with an instance goes when it goes. And of no host.
        changes = f"LABEL {INSTANCE_LABEL}={target} {HOST_LABEL}=none {label}".rstrip()
        self._runtime.open_root(own.id)
        self._runtime.check_copy(own.id)
        made = engine.commit(own.id, repository=repository, tag=tag, changes=changes, message=ROOT_MESSAGE)
        return str(made["Id"])

    @contextmanager
    def _engine(self) -> Iterator[Any]:
        with engine_answers(), closing(self._runtime.engine()) as engine:
            yield engine


class SimulatedRoots:
    """Roots of containers that do not exist: only remembered. What travels is a file with a few words."""

    def __init__(self, runtime: SimulatedRuntime) -> None:
        self._runtime = runtime

    def copy(self, source: str, target: str, number: int) -> None:
        self._runtime.bring_root(target, number)

    def take_out(self, source: str, target: str, parcel: str, path: Path, progress: Progress) -> None:
        path.write_text(f"the simulated root of {source}")

    def take_in(self, path: Path, target: str, number: int, *, most: int) -> None:
        self._runtime.bring_root(target, number)

    def is_there(self, target: str, number: int) -> bool:
        return self._runtime.saved_root(target, number) is not None

    def drop(self, target: str, number: int) -> None:
        self._runtime.clear(target)

    def forget(self, parcel: str) -> None:
        return None


def roots_of(runtime: Runtime) -> Roots:
    if isinstance(runtime, DockerRuntime):
        return DockerRoots(runtime)
    if isinstance(runtime, SimulatedRuntime):
        return SimulatedRoots(runtime)
    raise TypeError(f"no roots of {runtime.kind}")


def _check_archive(path: Path, target: str, most: int) -> int:
    """One image without a name, made from an instance of this id: an archive may hold many, and rename what is there.
    Bytes of its layers as they are unpacked: an engine may send them compressed, and a hostile host to any factor."""
    try:
        with tarfile.open(path) as archive:
            images = _member(archive, "manifest.json")
            if len(images) != 1 or images[0].get("RepoTags"):
                raise Failed("bad_parcel", "What arrived is not one unnamed image.")
            if "repositories" in archive.getnames():
                raise Failed("bad_parcel", "What arrived names images.")
            labels = _member(archive, str(images[0]["Config"]))["config"]["Labels"] or {}
            if labels.get(INSTANCE_LABEL) != target:
                raise Failed("bad_parcel", "What arrived is not the root of this instance.")
            size = 0
            for name in images[0]["Layers"]:
                size += _unpacked(archive, str(name), most - size)
            return size
    except (tarfile.TarError, zlib.error, AttributeError, KeyError, TypeError, ValueError) as error:
        raise Failed("bad_parcel", "What arrived is no image.") from error


def _unpacked(archive: tarfile.TarFile, name: str, most: int) -> int:
    """Bytes of one layer. Raises Failed when they are more than `most`, or compressed in a way that nobody here reads."""
    member = archive.getmember(name)
    file = archive.extractfile(member)
    if file is None:
        raise Failed("bad_parcel", "What arrived is no image.")
    head = file.read(_LONGEST_MAGIC)
    if head.startswith(_COMPRESSED):
        raise Failed("bad_parcel", "What arrived is compressed in a way that this host does not read.")
    file.seek(0)
    size = _gunzipped(file, most) if head.startswith(GZIP) else file.seek(0, os.SEEK_END)
    if size > most:
        raise Failed("system_disk_full", TOO_LARGE)
    return size


def _gunzipped(file: IO[bytes], most: int) -> int:
    """Bytes that it unpacks to, counted no further than just above `most`."""
    size, unpack = 0, zlib.decompressobj(_GZIP)
    piece = file.read(_PIECE)
    while piece and size <= most:
        size += len(unpack.decompress(piece, _PIECE))
        piece = unpack.unconsumed_tail
        if unpack.eof:  # a file may hold several streams, one behind the other
            piece, unpack = unpack.unused_data, zlib.decompressobj(_GZIP)
        piece = piece or file.read(_PIECE)
    return size


def _member(archive: tarfile.TarFile, name: str) -> Any:
    member = archive.getmember(name)
    file = archive.extractfile(member)
    if file is None or member.size > _LARGEST_LIST:
        raise Failed("bad_parcel", "What arrived is no image.")
    return json.loads(file.read())


def _loaded(told: list[dict[str, Any]]) -> str:
    for line in told:
        words = str(line.get("stream", ""))
        if "Loaded image ID: " in words:
            return words.partition("Loaded image ID: ")[2].strip()
    raise EngineRefused(f"the engine did not take the image in: {told[-1:]}")
