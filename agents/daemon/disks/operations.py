"""Operators for disks: make and delete volumes; take, restore and delete snapshots. All can resume.

A snapshot gets its name only once it is complete, verified and on the disk; until then it is `<id>.new`, which
nothing reads.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from agents.daemon.disks import ext4
from agents.daemon.disks.block_copy import Sums, allocated_bytes, checksum_of, copy_changed_blocks, frozen, sums_on_disk
from agents.daemon.disks.loop_disks import DiskFull, LoopDisks, unmount
from agents.daemon.disks.operation_runner import Operation, Operator
from agents.daemon.disks.volume_store import LoopVolumes, checked_id
from agents.daemon.lib.atomic_files import sync_folder, write_atomically
from agents.daemon.lib.errors import Failed
from agents.daemon.lib.sizes import GIB, HEADROOM
from agents.protocol.progress_messages import Said, say

Checkpoint = Callable[[str], None]

_TOOL_TIMEOUT: Final = 3600


class DiskOrders:
    """Carries out orders on the data disks and volumes of one host."""

    def __init__(self, disks: LoopDisks, store: LoopVolumes, *, sparse: bool, checkpoint: Checkpoint) -> None:
        self._disks = disks
        self._store = store
        self._sparse = sparse
        self._checkpoint = checkpoint

    def operators(self) -> Mapping[str, Operator]:
        return {
            "make_volume": self.make_volume,
            "drop_volume": self.delete_volume,
            "take_snapshot": self.take_snapshot,
            "restore_disk": self.restore_disk,
            "drop_snapshot": self.delete_snapshot,
        }

    def make_volume(self, work: Operation) -> Mapping[str, str]:
        """Make an empty volume, or with `snapshot` a copy of that snapshot."""
        args = work.order.args
        volume, size_gb = checked_id(args["volume"]), int(args["size_gb"])
        image, _ = self._store.volumes.paths(volume)
        if args.get("snapshot") and not image.exists():
            self._restore(work, image, volume, args["snapshot"], size_gb)
        try:
            self._store.volumes.make(volume, size_gb)
            self._store.volumes.mount(volume)
        except DiskFull as error:
            raise Failed("disk_full", "The host has no room for the volume.") from error
        return {}

    def delete_volume(self, work: Operation) -> Mapping[str, str]:
        self._store.volumes.delete(checked_id(work.order.args["volume"]))
        return {}

    def take_snapshot(self, work: Operation) -> Mapping[str, str]:
        args = work.order.args
        final = self._store.snapshot_path(args["snapshot"])
        if not final.exists():
            image, mount = self._paths(args)
            if not image.exists():
                raise Failed("disk_missing", "The disk is not on this host.")
            self._copy_snapshot(work, image, mount, final)
        sync_folder(final.parent)
        outcome: dict[str, str] = json.loads(_description_path(final).read_text())
        return outcome

    def restore_disk(self, work: Operation) -> Mapping[str, str]:
        """Replace a disk by a snapshot; the control plane orders it only while nothing runs on the disk."""
        args = work.order.args
        disks, key = self._place(args)
        image, mount = disks.paths(key)
        self._restore(work, image, key, args["snapshot"], int(args["size_gb"]), mounted_at=mount)
        self._checkpoint("restored")
        disks.mount(key)
        return {}

    def delete_snapshot(self, work: Operation) -> Mapping[str, str]:
        final = self._store.snapshot_path(work.order.args["snapshot"])
        self._store.unpublish(work.order.args["snapshot"])
        for path in (final, _incomplete_path(final), _description_path(final)):
            path.unlink(missing_ok=True)
        return {}

    # -- a snapshot

    def _copy_snapshot(self, work: Operation, image: Path, mount: Path, final: Path) -> None:
        """Copy most of the disk while it is in use, then freeze it and copy what has changed since."""
        spare, size = _incomplete_path(final), image.stat().st_size
        spare.unlink(missing_ok=True)
        self._check_room(spare.parent, allocated_bytes(image))
        if not (mount.is_mount() or ext4.wait_until_detached(image)):
            raise Failed("operation_failed", "Something on the host still has the disk mounted.")
        sums = copy_changed_blocks(image, spare, {}, _progress_reporter(work, allocated_bytes(image), say("copying_disk")))
        self._checkpoint("snapshot-copied")
        if mount.is_mount():
            with frozen(mount):
                self._checkpoint("snapshot-frozen")
                sums = copy_changed_blocks(image, spare, sums, _progress_reporter(work, 0, say("copying_changes")))
        self._checkpoint("snapshot-synced")
        checksum = checksum_of(self._check(work, spare, sums), size)
        self._checkpoint("snapshot-checked")
        card = {"checksum": checksum, "stored_bytes": str(allocated_bytes(spare)), "size_bytes": str(size)}
        # The spare has another name than `.new`, which is the snapshot itself.
        write_atomically(_description_path(final), json.dumps(card).encode(), spare=final.with_suffix(".card"))
        self._checkpoint("snapshot-described")
        spare.replace(final)
        self._checkpoint("snapshot-named")

    def _check(self, work: Operation, path: Path, sums: Sums) -> Sums:
        """Read the copy from the disk and compare it.

        Raises:
            Failed: It is not what was copied.
        """
        found = sums_on_disk(path, _progress_reporter(work, allocated_bytes(path), say("checking_copy")))
        if found != sums:
            raise Failed("copy_damaged", "The copy on the host's disk is not what was copied.")
        return found

    # -- a disk from a snapshot

    def _restore(
        self, work: Operation, image: Path, key: str, snapshot: str, size_gb: int, *, mounted_at: Path | None = None
    ) -> None:
        """Make the disk under another name until it is complete, then put it in the image's place."""
        source, spare = self._store.snapshot_path(snapshot), image.with_suffix(".new")
        if not source.exists():
            raise Failed("snapshot_missing", "The snapshot is not on this host.")
        spare.unlink(missing_ok=True)
        self._check_room(spare.parent, allocated_bytes(source) if self._sparse else size_gb * GIB)
        sums = copy_changed_blocks(
            source, spare, {}, _progress_reporter(work, allocated_bytes(source), say("copying_snapshot"))
        )
        if checksum_of(sums, source.stat().st_size) != json.loads(_description_path(source).read_text())["checksum"]:
            spare.unlink()
            raise Failed("snapshot_damaged", "The snapshot's checksum does not match any more; nothing was changed.")
        self._check(work, spare, sums)
        self._grow(spare, size_gb * GIB)
        ext4.relabel(spare, key)
        self._checkpoint("restore-copied")
        if mounted_at is not None:
            unmount(mounted_at)
        self._checkpoint("restore-unmounted")
        spare.replace(image)
        sync_folder(image.parent)

    def _grow(self, image: Path, size: int) -> None:
        if image.stat().st_size < size:
            os.truncate(image, size)
            _run("e2fsck", "-f", "-p", str(image))
            _run("resize2fs", str(image))
        if not self._sparse:
            with image.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, size)

    def _check_room(self, folder: Path, needed: int) -> None:
        if shutil.disk_usage(folder).free < needed + HEADROOM:
            raise Failed("disk_full", "The host has no room for the copy.")

    def _paths(self, args: Mapping[str, str]) -> tuple[Path, Path]:
        disks, key = self._place(args)
        return disks.paths(key)

    def _place(self, args: Mapping[str, str]) -> tuple[LoopDisks, str]:
        """Return the disks and the key of a `volume`, or of the data disk of an `instance`."""
        if "volume" in args:
            return self._store.volumes, checked_id(args["volume"])
        return self._disks, checked_id(args["instance"])


def simulated_orders() -> Mapping[str, Operator]:
    """Return operators for a simulated host: every order ends at once and touches nothing."""

    def taken(work: Operation) -> Mapping[str, str]:
        size = int(work.order.args["size_gb"]) * GIB
        return {"checksum": "simulated", "stored_bytes": str(size // 3), "size_bytes": str(size)}

    def nothing(work: Operation) -> Mapping[str, str]:
        return {}

    others = ("make_volume", "drop_volume", "restore_disk", "drop_snapshot")
    return {"take_snapshot": taken, **dict.fromkeys(others, nothing)}


def _progress_reporter(work: Operation, total: int, words: Said) -> Callable[[int], None]:
    done = 0

    def progress(count: int) -> None:
        nonlocal done
        done += count
        work.progress(done, max(total, done) if total else 0, words)

    return progress


def _incomplete_path(final: Path) -> Path:
    return final.with_suffix(".new")


def _description_path(final: Path) -> Path:
    return final.with_suffix(".json")


def _run(*command: str) -> None:
    # Fixed programs, with arguments made of our own paths. e2fsck ends with 1 when it has repaired something.
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TOOL_TIMEOUT, check=False)  # noqa: S603
    if done.returncode > (1 if command[0] == "e2fsck" else 0):
        raise Failed("operation_failed", f"{command[0]}: {done.stderr.strip()[:200] or done.returncode}")
