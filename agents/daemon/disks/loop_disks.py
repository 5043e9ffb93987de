"""Data disks: one fixed-size ext4 image per instance, loop-mounted `nosuid,nodev`.

A full disk is full for its own instance alone.
"""

import errno
import logging
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final, Protocol

from agents.daemon.disks import ext4
from agents.daemon.lib.atomic_files import sync_folder
from agents.daemon.lib.sizes import GIB, HEADROOM, MIB

logger = logging.getLogger(__name__)

TIMEOUT = 120


class DiskFull(Exception):
    """The host has no room for the disk."""


class Disks(Protocol):
    """Data disks of one host."""

    def make(self, instance: str, size_gb: int) -> None:
        """Make an empty disk, unless there is one; only for an instance that never had any.

        Raises:
            DiskFull: The host has no room for it.
        """

    def mount(self, instance: str) -> Path:
        """Mount the existing disk and return the mount point.

        Raises:
            DiskMissing: The disk is not on the host.
        """

    def used_mb(self, instance: str) -> int: ...

    def delete(self, instance: str) -> None: ...

    def leftovers(self, instance: str) -> list[str]: ...


class DiskCommandFailed(OSError):
    """A mount or format command failed; the text is the command's own."""


class DiskMissing(DiskCommandFailed):
    """The disk is not on the host, or another one is in its place; nothing was made or overwritten."""


class LoopDisks:
    """Data disks in image files.

    `sparse` leaves blocks unallocated until they are written: for development, where the room need not be reserved.
    """

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
        self._check_identity(image, instance)
        if ext4.is_short(image):
            self._fit(instance)
        if mount.is_mount() and ext4.fault_of(mount, image):
            unmount(mount)  # its file is gone, or the kernel has stopped writing to it
        if not mount.is_mount():
            mount.mkdir(mode=0o755, exist_ok=True)
            run_tool("mount", "-t", "ext4", "-o", ext4.OPTIONS, str(image), str(mount))
            if ext4.fault_of(mount, image):  # mount falls back to read-only without an error if the file is not writable
                unmount(mount)
                raise DiskMissing(f"{image.name} takes no writes on this host.")
        return mount

    def used_mb(self, instance: str) -> int:
        _, mount = self._paths(instance)
        if not mount.is_mount():
            return 0
        state = os.statvfs(mount)
        return (state.f_blocks - state.f_bfree) * state.f_frsize // MIB

    def delete(self, instance: str) -> None:
        image, mount = self._paths(instance)
        self._unmount(instance)  # a crash between two mounts can have stacked them
        if mount.exists():
            mount.rmdir()
        image.unlink(missing_ok=True)
        image.with_suffix(".new").unlink(missing_ok=True)
        for folder in self._incoming_folders(instance):
            shutil.rmtree(folder, ignore_errors=True)

    def leftovers(self, instance: str) -> list[str]:
        image, mount = self._paths(instance)
        return [f"data disk {path.name}" for path in (image, mount, *self._incoming_folders(instance)) if path.exists()]

    def paths(self, instance: str) -> tuple[Path, Path]:
        """Return the image and the mount point, whether they exist or not."""
        return self._paths(instance)

    def unmount_and_wait(self, instance: str) -> bool:
        """Unmount the disk of an instance that does not run; return True once its image is complete.

        False: something on the host still has it mounted, so that written data may be missing from the image. A
        container that is being created at this moment holds every mount of the host briefly, hence the wait.
        """
        self._unmount(instance)
        image, _ = self._paths(instance)
        return ext4.wait_until_detached(image)

    def _unmount(self, instance: str) -> None:
        _, mount = self._paths(instance)
        unmount(mount)

    def allocate(self, path: Path, size: int) -> None:
        """Create an empty file of this size, with its room reserved as for a data disk.

        Raises:
            DiskFull: The host has no room for it.
        """
        self._allocate(path, size)

    def _fit(self, instance: str) -> None:
        """Fit the file system to its enlarged file, unless an unknown container still has it mounted."""
        image, _ = self._paths(instance)
        try:
            if self.unmount_and_wait(instance):
                ext4.fit_to_file(image)
        except ext4.Unfit as error:
            logger.warning("the data disk of %s keeps its size: %s", instance, error)

    def _check_identity(self, image: Path, instance: str) -> None:
        """Check that the image is this instance's disk, and label one from before disks had labels.

        Raises:
            DiskMissing: It is not.
        """
        try:
            if not image.exists():
                raise DiskMissing(f"{image.name} is not among the disks of this host.")
            label, own = ext4.read_label(image), ext4.label_of(instance)
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
        ext4.relabel(image, instance)

    def _incoming_folders(self, instance: str) -> list[Path]:
        """Return folders of transfers to this host, complete or not: see `agents.daemon.transfer`."""
        return sorted((self._images.parent / "moves").glob(f"{instance}-*"))

    def _paths(self, instance: str) -> tuple[Path, Path]:
        return self._images / f"{instance}.ext4", self._mounts / instance

    def _format(self, image: Path, size_gb: int, label: str) -> None:
        """Make a disk, under another name until it is complete: a crash leaves no half disk in its place."""
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
        # Checked first: an allocation that fails half-way fills the host's disk for everybody for a moment.
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
    """Simulated runtime's disks: there are none."""

    def make(self, instance: str, size_gb: int) -> None:
        return None

    def mount(self, instance: str) -> Path:
        return Path("/simulated") / instance

    def used_mb(self, instance: str) -> int:
        return 0

    def delete(self, instance: str) -> None:
        return None

    def leftovers(self, instance: str) -> list[str]:
        return []


def unmount(mount: Path) -> None:
    """Unmount all mounts that are stacked there.

    Raises:
        DiskCommandFailed: umount failed.
    """
    while mount.is_mount():
        run_tool("umount", str(mount))


# Named one by one, since defaults differ: every host must be able to check and mount the disk of any other.
FEATURES: Final = (
    "none,has_journal,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,"
    "sparse_super,large_file,huge_file,dir_nlink,extra_isize,metadata_csum"
)


def format_image(image: Path, label: str) -> None:
    """Make an empty ext4 file system in a file of its final size; for `label` see `ext4.label_of`."""
    # nodiscard keeps the blocks that were just allocated. Lazy tables: 50 GB take 30 ms instead of seconds.
    options = "nodiscard,lazy_itable_init=1,lazy_journal_init=1,root_owner=0:0"
    run_tool("mkfs.ext4", "-q", "-F", "-m", "0", "-O", FEATURES, "-L", label, "-E", options, str(image))


def run_tool(*command: str, timeout: float = TIMEOUT) -> None:
    """Run a tool.

    Raises:
        DiskCommandFailed: It failed; the text is the tool's own.
    """
    # Fixed programs, with arguments made of our own paths.
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)  # noqa: S603
    if done.returncode != 0:
        raise DiskCommandFailed(f"{command[0]}: {done.stderr.strip() or done.returncode}")
