"""Data disks: a fixed-size ext4 image for each instance, loop-mounted `nosuid,nodev`. A full one is full inside alone."""

import errno
import logging
import os
import shutil
import subprocess
from pathlib import Path
from typing import Protocol

from agents.daemon.disks import ext4
from agents.daemon.lib.atomic_files import sync_folder
from agents.daemon.lib.sizes import GIB, HEADROOM, MIB

logger = logging.getLogger(__name__)

TIMEOUT = 120


class DiskFull(Exception):
    """The host has no room for the disk."""


class Disks(Protocol):
    """The data disks of one host."""

    def make(self, instance: str, size_gb: int) -> None:
        """Make an empty disk, unless there is one. Only for an instance that never had any. Raises DiskFull."""

    def mount(self, instance: str) -> Path:
        """Mount the disk that is there; the mount point. Raises DiskMissing."""

    def used_mb(self, instance: str) -> int: ...

    def drop(self, instance: str) -> None: ...

    def leftovers(self, instance: str) -> list[str]: ...


class DiskTrouble(OSError):
    """A mount or format command failed; the text is its own."""


class DiskMissing(DiskTrouble):
    """The disk is not on the host, or another one is in its place. Nothing was made or overwritten."""


class LoopDisks:
    """Real ones. `sparse` leaves blocks unallocated until written: for development, where disks are promised, not kept."""

    def __init__(self, root: Path, *, sparse: bool) -> None:
        self._images = root / "disks"
        self._mounts = root / "mounts"
        self._sparse = sparse
        for folder in (self._images, self._mounts):
            folder.mkdir(mode=0o711, parents=True, exist_ok=True)

    def make(self, instance: str, size_gb: int) -> None:
        image, _ = self._paths(instance)
        if not image.exists():
            self._format(image, size_gb, ext4.label_of(instance))

    def mount(self, instance: str) -> Path:
        image, mount = self._paths(instance)
        self._identify(image, instance)
        if ext4.is_short(image):
            self._fit(instance)
        if mount.is_mount() and ext4.trouble_of(mount, image):
            unmount(mount)  # of a file that is not there any more, or the kernel had stopped to write to it
        if not mount.is_mount():
            mount.mkdir(mode=0o755, exist_ok=True)
            run_tool("mount", "-t", "ext4", "-o", ext4.OPTIONS, str(image), str(mount))
            if ext4.trouble_of(mount, image):  # without a word where the file itself may not be written
                unmount(mount)
                raise DiskMissing(f"{image.name} takes no writes on this host.")
        return mount

    def used_mb(self, instance: str) -> int:
        _, mount = self._paths(instance)
        if not mount.is_mount():
            return 0
        state = os.statvfs(mount)
        return (state.f_blocks - state.f_bfree) * state.f_frsize // MIB

    def drop(self, instance: str) -> None:
        image, mount = self._paths(instance)
        self._unmount(instance)  # a crash between two mounts can have stacked them
        if mount.exists():
            mount.rmdir()
        image.unlink(missing_ok=True)
        image.with_suffix(".new").unlink(missing_ok=True)
        for folder in self._arriving(instance):
            shutil.rmtree(folder, ignore_errors=True)

    def leftovers(self, instance: str) -> list[str]:
        image, mount = self._paths(instance)
        return [f"data disk {path.name}" for path in (image, mount, *self._arriving(instance)) if path.exists()]

    def paths(self, instance: str) -> tuple[Path, Path]:
        """Its image and where that is mounted, whether they are there or not."""
        return self._paths(instance)

    def put_to_rest(self, instance: str) -> bool:
        """Unmount the disk of an instance that does not run. True once its image is whole; false when something on the host
        still has it mounted, so that what was written may not be in it yet.

        A container that is being made at this moment holds every mount of the host for an instant: it is waited for.
        """
        self._unmount(instance)
        image, _ = self._paths(instance)
        return ext4.wait_until_detached(image)

    def _unmount(self, instance: str) -> None:
        _, mount = self._paths(instance)
        unmount(mount)

    def allocate(self, path: Path, size: int) -> None:
        """An empty file of this size, its room set aside as that of a data disk is. Raises DiskFull."""
        self._allocate(path, size)

    def _fit(self, instance: str) -> None:
        """The file was made larger. Nothing runs on it now, unless a container that nobody knows has it still."""
        image, _ = self._paths(instance)
        try:
            if self.put_to_rest(instance):
                ext4.fit(image)
        except ext4.Unfit as error:
            logger.warning("the data disk of %s keeps its size: %s", instance, error)

    def _identify(self, image: Path, instance: str) -> None:
        """Raises DiskMissing unless the image is this instance's disk. One from before disks had labels gets its own."""
        try:
            if not image.exists():
                raise DiskMissing(f"{image.name} is not among the disks of this host.")
            label, own = ext4.label_in(image), ext4.label_of(instance)
            missing = ext4.size_of_system(image) - image.stat().st_size
        except DiskMissing:
            raise
        except OSError as error:
            raise DiskMissing(f"{image.name} cannot be read: {error.strerror}.") from error
        if label is None:
            raise DiskMissing(f"{image.name} holds no file system.")
        if missing > 0:
            raise DiskMissing(f"{image.name} has been cut short: {missing} bytes of its file system are gone.")
        if label not in ("", own):
            raise DiskMissing(f"{image.name} is another disk: its label is {label!r}, not {own!r}.")
        ext4.give_to(image, instance)

    def _arriving(self, instance: str) -> list[Path]:
        """What comes, or came half, from another host: see moving.py."""
        return sorted((self._images.parent / "moves").glob(f"{instance}-*"))

    def _paths(self, instance: str) -> tuple[Path, Path]:
        return self._images / f"{instance}.ext4", self._mounts / instance

    def _format(self, image: Path, size_gb: int, label: str) -> None:
        """Under another name until it is whole: a crash leaves no half disk that looks like one."""
        spare = image.with_suffix(".new")
        try:
            self._allocate(spare, size_gb * GIB)
            format_image(spare, label)
            with spare.open("rb") as file:
                os.fsync(file.fileno())
        except BaseException:
            spare.unlink(missing_ok=True)
            raise
        spare.replace(image)
        sync_folder(image.parent)

    def _allocate(self, path: Path, size: int) -> None:
        # Asked first: an allocation that fails half-way has filled the host's disk for everybody for a moment.
        if not self._sparse and shutil.disk_usage(self._images).free < size + HEADROOM:
            raise DiskFull(str(path))
        with path.open("wb") as file:
            path.chmod(0o600)
            if self._sparse:
                file.truncate(size)
                return
            try:
                os.posix_fallocate(file.fileno(), 0, size)
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    raise DiskFull(str(path)) from error
                raise


class SimulatedDisks:
    """None at all, for the simulated runtime."""

    def make(self, instance: str, size_gb: int) -> None:
        return None

    def mount(self, instance: str) -> Path:
        return Path("/simulated") / instance

    def used_mb(self, instance: str) -> int:
        return 0

    def drop(self, instance: str) -> None:
        return None

    def leftovers(self, instance: str) -> list[str]:
        return []


def unmount(mount: Path) -> None:
    """However many mounts are stacked there. Raises DiskTrouble."""
    while mount.is_mount():
        run_tool("umount", str(mount))


def format_image(image: Path, label: str) -> None:
    """Make an empty ext4 file system in a file that has its size. The label says whose it is: see `ext4.label_of`."""
    # nodiscard: it would punch the blocks just allocated out again. Lazy tables: 50 GB in 30 ms instead of seconds.
    options = "nodiscard,lazy_itable_init=1,lazy_journal_init=1,root_owner=0:0"
    run_tool("mkfs.ext4", "-q", "-F", "-m", "0", "-L", label, "-E", options, str(image))


def run_tool(*command: str, timeout: float = TIMEOUT) -> None:
    """Raises DiskTrouble with the tool's own words."""
    # Fixed programs, and arguments made of our own paths.
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)  # noqa: S603
    if done.returncode != 0:
        raise DiskTrouble(f"{command[0]}: {done.stderr.strip() or done.returncode}")
