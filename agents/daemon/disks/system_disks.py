"""System disks: the writable layer of a container on an ext4 image of fixed size.

So a full root is full for its own instance alone.

The engine (overlay2) keeps a container's layer in one folder: `diff`, `work`, and the files `link` and `lower`. The
image is mounted over that folder, and the engine mounts, commits and removes what it finds there as it always does.
The folder below keeps only `link` and `lower`, so a container whose disk is not mounted cannot start on an empty
root.

A disk belongs to a root file system, not to a container: a container that takes over the root of an earlier one
takes over its disk, and nothing is copied. The file name of the disk holds the number of the root and the id of the
container image that it is based on (`base`); as one name it exists completely or not at all. Anonymous volumes,
which an image may ask for, are folders of the same disk.
"""

import os
import shutil
import subprocess
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from agents.daemon.disks import ext4
from agents.daemon.disks.loop_disks import DiskCommandFailed, DiskMissing, LoopDisks, format_image, run_tool
from agents.daemon.lib.atomic_files import sync_folder
from agents.daemon.lib.sizes import GIB, MIB

LAYER: Final = ("diff", "work")
LINK_FILES: Final = ("link", "lower")
NETWORK_FILES: Final = ("hostname", "resolv.conf", "hosts")
COPY_TIMEOUT: Final = 3600.0
EXTRA_ROOM: Final = 256 * MIB  # added to the size of a layer that already holds more than its disk should
NETWORK_FILES_SIZE: Final = "size=1m,nr_inodes=8,mode=0711"
GONE: Final = "The instance's root file system is gone from the host."
HELD: Final = "Something on the host still has the system disk mounted."


@dataclass(frozen=True)
class Layer:
    """Writable layer of one container, and the other places that the engine lets the container write."""

    container: str
    instance: str
    root: int
    size_gb: int
    base: str  # id of the image that it is based on, 64 hex digits
    folder: Path
    names: Path  # folder with its hosts, hostname and resolv.conf
    volumes: tuple[tuple[str, Path], ...] = ()  # path in the container, path on the host


class SystemDisks:
    """System disks of one host."""

    def __init__(self, state: Path, *, sparse: bool) -> None:
        state.mkdir(mode=0o711, parents=True, exist_ok=True)
        self._disks = LoopDisks(state, sparse=sparse)
        self._images = state / "systems"
        self._staging = state / "staging"
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        for folder in (self._images, self._staging):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def attach(self, layer: Layer) -> None:
        """Mount the layer's disk; if it has none, make one with what the layer holds.

        Raises:
            DiskFull: The host has no room for it.
            DiskCommandFailed: A tool failed, or the disk is not the layer's.
        """
        with self._locks[layer.instance]:
            if not os.path.ismount(layer.folder):
                self._mount_layer(layer)
            for target, source in layer.volumes:
                self._mount_volume(layer, target, source)

    def detach(self, layer: Layer) -> None:
        """Unmount the disk, since the engine is about to remove the container."""
        with self._locks[layer.instance]:
            for name in reversed(NETWORK_FILES):
                _unmount(layer.names / name)
            image = self._image(layer.instance, layer.root)
            if image is not None and os.path.ismount(layer.folder):
                _release(image)

    def limit_network_files(self, layer: Layer) -> None:
        """Move the files that the engine binds into the container, writable, from its disk to a small tmpfs.

        The engine writes them again at each start, so a reboot loses nothing.
        """
        with self._locks[layer.instance]:
            if os.path.ismount(layer.names / NETWORK_FILES[-1]):
                return
            place = self._staging / layer.container
            place.mkdir(mode=0o700, exist_ok=True)
            _unmount(place)
            run_tool("mount", "-t", "tmpfs", "-o", NETWORK_FILES_SIZE, "tmpfs", str(place))
            for name in NETWORK_FILES:
                (place / name).touch(mode=0o644)
                _unmount(layer.names / name)
                (layer.names / name).touch(mode=0o644)
                run_tool("mount", "--bind", str(place / name), str(layer.names / name))
            run_tool("umount", str(place))
            place.rmdir()

    def has(self, instance: str, root: int) -> bool:
        return self._image(instance, root) is not None

    def base_of(self, instance: str) -> str:
        """Return the id of the image that the newest root is based on; "" if there is no root."""
        newest = max(self._all(instance), key=_root_of, default=None)
        return "" if newest is None else newest.name.split(".")[2]

    def size_of(self, layer: Layer) -> int:
        """Return the size in bytes; 0 if there is no disk."""
        image = self._image(layer.instance, layer.root)
        return 0 if image is None else image.stat().st_size

    def is_full(self, layer: Layer) -> bool:
        state = os.statvfs(layer.folder)
        return os.path.ismount(layer.folder) and (state.f_bavail * state.f_frsize < MIB or not state.f_favail)

    def delete(self, instance: str, root: int | None = None) -> None:
        """Delete the disk of one root, or of all roots of the instance."""
        with self._locks[instance]:
            pattern = f"{instance}.*" if root is None else f"{instance}.{root}.*"
            for image in sorted(self._images.glob(pattern)):
                _release(image)
                image.unlink()

    def leftovers(self, instance: str) -> list[str]:
        return [f"system disk {path.name}" for path in sorted(self._images.glob(f"{instance}.*"))]

    def tidy(self) -> None:
        """Unmount and delete what a killed agent left half-made; to be called before any work begins."""
        for place in self._staging.iterdir():
            _unmount(place)
            place.rmdir()
        for spare in self._images.glob("*.new"):
            _release(spare)
            spare.unlink()

    def _mount_layer(self, layer: Layer) -> None:
        image = self._image(layer.instance, layer.root) or self._make(layer)
        if image.name.split(".")[2] != layer.base:
            raise DiskCommandFailed("The root file system on this host stands on another image.")
        if ext4.read_label(image) not in ("", ext4.label_of(_key(layer))):  # "": from before disks had labels
            raise DiskMissing(GONE)
        _release(image)
        with self._staged(image) as place:
            for name in LINK_FILES:
                shutil.copy2(layer.folder / name, place / name)
            for name in LAYER:
                shutil.rmtree(layer.folder / name, ignore_errors=True)
            run_tool("mount", "--bind", str(place), str(layer.folder))

    def _make(self, layer: Layer) -> Path:
        """Make the disk under another name until it holds what the layer does.

        The disk of a layer that is already too large is made large enough to hold it.
        """
        if not (layer.folder / "diff").is_dir():
            raise DiskMissing(GONE)
        final = self._images / f"{layer.instance}.{layer.root}.{layer.base}.ext4"
        spare = final.with_suffix(".new")
        size = max(layer.size_gb * GIB, _used(layer.folder / "diff") * 11 // 10 + EXTRA_ROOM)
        try:
            self._disks.allocate(spare, size)
            format_image(spare, ext4.label_of(_key(layer)))
            with self._staged(spare) as place:
                (place / "lost+found").rmdir()
                run_tool("cp", "-a", str(layer.folder / "diff"), str(place), timeout=COPY_TIMEOUT)
                (place / "work").mkdir(mode=0o700)
            with spare.open("rb") as file:
                os.fsync(file.fileno())
        except BaseException:
            spare.unlink(missing_ok=True)
            raise
        spare.replace(final)
        sync_folder(self._images)
        return final

    def _mount_volume(self, layer: Layer, target: str, source: Path) -> None:
        if os.path.ismount(source):
            return
        kept = layer.folder / "volumes" / sha256(target.encode()).hexdigest()[:16]
        if not kept.exists():
            spare = kept.with_suffix(".new")
            shutil.rmtree(spare, ignore_errors=True)
            kept.parent.mkdir(mode=0o700, exist_ok=True)
            run_tool("cp", "-a", str(source), str(spare), timeout=COPY_TIMEOUT)
            spare.replace(kept)
        run_tool("mount", "--bind", str(kept), str(source))

    @contextmanager
    def _staged(self, image: Path) -> Iterator[Path]:
        """Mount the disk in a staging folder, so that it is complete before it is bound over a layer."""
        place = self._staging / image.name
        place.mkdir(mode=0o700, exist_ok=True)
        _unmount(place)
        run_tool("mount", "-t", "ext4", "-o", ext4.OPTIONS, str(image), str(place))
        try:
            yield place
        finally:
            run_tool("umount", str(place))
            place.rmdir()

    def _image(self, instance: str, root: int) -> Path | None:
        return next(iter(self._images.glob(f"{instance}.{root}.*.ext4")), None)

    def _all(self, instance: str) -> list[Path]:
        return list(self._images.glob(f"{instance}.*.ext4"))


def mounted_at(image: Path) -> list[str]:
    """Return every place at which the image is mounted, the newest first."""
    found = subprocess.run(  # noqa: S603 (a fixed program and a path of our own)
        ["losetup", "-n", "-O", "NAME", "-j", str(image)],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
    )
    devices = set(found.stdout.split())
    places = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        if after.split()[1] in devices:
            places.append(before.split()[4].encode().decode("unicode_escape"))
    return places[::-1]


def _release(image: Path) -> None:
    """Unmount the image everywhere, and wait until it is complete.

    Raises:
        DiskCommandFailed: Something still has it mounted.
    """
    for place in mounted_at(image):
        run_tool("umount", place)
    if not ext4.wait_until_detached(image):
        raise DiskCommandFailed(HELD)


def _unmount(place: Path) -> None:
    """Unmount all mounts stacked there; unlike pathlib's test it also sees mounts over files."""
    while os.path.ismount(place):
        run_tool("umount", str(place))


def _key(layer: Layer) -> str:
    return f"{layer.instance}.{layer.root}"


def _root_of(image: Path) -> int:
    return int(image.name.split(".")[1])


def _used(folder: Path) -> int:
    """Return the bytes that the folder takes on the disk."""
    listing = subprocess.run(  # noqa: S603 (a fixed program and a path of the engine's)
        ["du", "-s", "--block-size=1", str(folder)],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
    )
    return int(listing.stdout.split()[0])
