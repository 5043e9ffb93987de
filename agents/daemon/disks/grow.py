"""Enlarging a data disk or volume in use: first the file, then the loop device, then the file system.

After a crash the operation starts again, and each step finds what is done already. A disk never shrinks. A disk
that is not mounted, or that the kernel cannot enlarge in use, is fitted to its file at its next mount: see
`LoopDisks.mount`.
"""

import logging
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from agents.daemon.disks import ext4
from agents.daemon.disks.loop_disks import LoopDisks
from agents.daemon.disks.operation_runner import Operation, Operator
from agents.daemon.disks.volume_store import checked_id
from agents.daemon.lib.errors import Failed
from agents.daemon.lib.sizes import GIB, HEADROOM
from agents.protocol.progress_messages import say

logger = logging.getLogger(__name__)

KIND: Final = "grow_disk"
VOLUME_KIND: Final = "grow_volume"
NOW: Final = "now"
AT_NEXT_START: Final = "at_next_start"
_NO_ROOM: Final = "The host has no room for a larger disk."

Checkpoint = Callable[[str], None]


class Growth:
    """Growth of the data disks and volumes of one host.

    `args` of an order: the instance or volume (32 hex digits) and size_gb. The outcome says whether the new size
    applies now or at the next start.
    """

    def __init__(self, disks: LoopDisks, *, sparse: bool, checkpoint: Checkpoint, volumes: LoopDisks | None = None) -> None:
        self._disks = disks
        self._volumes = volumes
        self._sparse = sparse
        self._checkpoint = checkpoint

    def operators(self) -> Mapping[str, Operator]:
        return {KIND: self._grow, VOLUME_KIND: self._grow}

    def _grow(self, own: Operation) -> Mapping[str, str]:
        size_gb = int(own.order.args["size_gb"])
        image, mount = self._paths(own.order.args)
        if not image.exists():
            raise Failed("disk_missing", "The disk is not on this host.")
        own.progress(0, size_gb * GIB, say("expanding_disk"))
        self._extend(image, size_gb * GIB)
        self._checkpoint("extended")
        applied = self._widen(mount)
        self._checkpoint("widened")
        return {"size_gb": str(size_gb), "applied": applied}

    def _paths(self, args: Mapping[str, str]) -> tuple[Path, Path]:
        if "volume" in args and self._volumes is not None:
            return self._volumes.paths(checked_id(args["volume"]))
        return self._disks.paths(checked_id(args["instance"]))

    def _widen(self, mount: Path) -> str:
        if not mount.is_mount():
            return AT_NEXT_START
        try:
            ext4.grow_mounted(mount)
        except ext4.Unfit as error:
            logger.warning("%s is not widened in use: %s", mount.name, error)
            return AT_NEXT_START
        return NOW

    def _extend(self, image: Path, size: int) -> None:
        """Enlarge the image file; for reserved disks check the room first, so that the host is never filled."""
        before = image.stat().st_size
        if before >= size:
            return
        if not self._sparse and shutil.disk_usage(image.parent).free < size - before + HEADROOM:
            raise Failed("disk_full", _NO_ROOM)
        with image.open("r+b") as file:
            if self._sparse:
                file.truncate(size)
                return
            try:
                os.posix_fallocate(file.fileno(), before, size - before)
            except OSError as error:
                file.truncate(before)
                raise Failed("disk_full", _NO_ROOM) from error


def simulated_growth() -> Mapping[str, Operator]:
    """Return operators for a simulated host: they report success and touch nothing."""

    def grown(own: Operation) -> Mapping[str, str]:
        return {"size_gb": own.order.args["size_gb"], "applied": NOW, "simulated": "true"}

    return {KIND: grown, VOLUME_KIND: grown}
