"""Storage that instances mount besides their data disks: volumes and public snapshots.

A volume is writable for one instance; a public snapshot is read-only and shared.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

from agents.daemon.disks import ext4
from agents.daemon.disks.block_copy import thaw
from agents.daemon.disks.loop_disks import DiskMissing, LoopDisks, run_tool, unmount
from agents.daemon.engine.interface import Bind
from agents.daemon.lib.errors import Failed
from agents.daemon.lib.sizes import MIB
from agents.protocol.messages import DiskUse, Mount

_ID: Final = re.compile(r"[0-9a-f]{32}")
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_PLACES: Final = {"volume": "/mnt", "public": "/pub"}


class Volumes(Protocol):
    """Volumes and public snapshots of one host."""

    def bind(self, mounts: Iterable[Mount]) -> tuple[Bind, ...]:
        """Mount what is not mounted, and return the binds for the container.

        Raises:
            Failed: A volume or snapshot is not on this host.
        """

    def use(self) -> list[DiskUse]:
        """Return the usage of every mounted data disk and volume."""


class LoopVolumes:
    """Volumes in images of fixed size like data disks, and snapshots that are mounted read-only."""

    def __init__(self, root: Path, *, sparse: bool) -> None:
        self.root = root
        self.volumes = LoopDisks(root / "volumes", sparse=sparse)
        self.snapshots = root / "snapshots"
        self.public = root / "public"
        for folder in (self.snapshots, self.public):
            folder.mkdir(mode=0o711, parents=True, exist_ok=True)
        self._thaw_all()

    def bind(self, mounts: Iterable[Mount]) -> tuple[Bind, ...]:
        return tuple(self._bind(mount) for mount in mounts)

    def use(self) -> list[DiskUse]:
        found = []
        for mount in self._writable_mounts():
            if mount.is_mount():
                found.append(use_of(mount, image=mount.parent.parent / "disks" / f"{mount.name}.ext4"))
        return sorted(found, key=lambda item: item.id)

    def snapshot_path(self, snapshot: str) -> Path:
        return self.snapshots / f"{checked_id(snapshot)}.ext4"

    def unpublish(self, snapshot: str) -> None:
        """Unmount a public snapshot that no instance reads any more."""
        mount = self.public / checked_id(snapshot)
        unmount(mount)
        if mount.exists():
            mount.rmdir()

    def _bind(self, mount: Mount) -> Bind:
        if not _NAME.fullmatch(mount.name):
            raise Failed("create_failed", "A volume's name is not one.")
        target = f"{_PLACES[mount.kind]}/{mount.name}"
        if mount.kind == "public":
            return Bind(str(self._publish(mount.id)), target, read_only=True)
        try:
            return Bind(str(self.volumes.mount(checked_id(mount.id))), target, read_only=False)
        except DiskMissing as error:
            missing = f"The volume {mount.name} is not on its host: {error}"
            raise Failed("volume_missing", missing, about=mount.id) from error

    def _publish(self, snapshot: str) -> Path:
        image, mount = self.snapshot_path(snapshot), self.public / snapshot
        if not image.exists():
            raise Failed("volume_missing", "A public data set is not on its host.")
        if not mount.is_mount():
            mount.mkdir(mode=0o755, exist_ok=True)
            run_tool("mount", "-t", "ext4", "-o", f"ro,{ext4.OPTIONS}", str(image), str(mount))
        return mount

    def _writable_mounts(self) -> list[Path]:
        return [*(self.root / "mounts").glob("*"), *(self.root / "volumes" / "mounts").glob("*")]

    def _thaw_all(self) -> None:
        """Thaw all disks, since an agent that was killed amid a snapshot leaves one frozen."""
        for mount in self._writable_mounts():
            if mount.is_mount():
                thaw(mount)


class SimulatedVolumes:
    """Simulated runtime's volumes: there are none."""

    def bind(self, mounts: Iterable[Mount]) -> tuple[Bind, ...]:
        return ()

    def use(self) -> list[DiskUse]:
        return []


def use_of(mount: Path, image: Path) -> DiskUse:
    state = os.statvfs(mount)
    return DiskUse(
        id=mount.name,
        used_mb=(state.f_blocks - state.f_bfree) * state.f_frsize // MIB,
        total_mb=state.f_blocks * state.f_frsize // MIB,
        inodes_used=state.f_files - state.f_ffree,
        inodes_total=state.f_files,
        trouble=ext4.fault_of(mount, image),
    )


def checked_id(text: str) -> str:
    """Return an id from the control plane after a check of its form, since it becomes part of a path.

    Raises:
        Failed: It is malformed.
    """
    if not _ID.fullmatch(text):
        raise Failed("operation_failed", "An id is not one.")
    return text
