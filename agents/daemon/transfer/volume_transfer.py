"""Operators that transfer volumes between hosts.

`send_volume`     send a volume that is at rest to another host; it stays as it is
`receive_volume`  receive it there; it gets its name only once it is complete, verified and on the disk
`clear_volume`    delete what is left of a volume that was moved away or did not arrive
"""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from agents.daemon.disks import ext4
from agents.daemon.disks.block_copy import allocated_bytes
from agents.daemon.disks.loop_disks import DiskFull, LoopDisks
from agents.daemon.disks.operation_runner import Operation, Operator
from agents.daemon.disks.received_ext4 import check_received
from agents.daemon.disks.volume_store import checked_id
from agents.daemon.lib.atomic_files import sync_folder
from agents.daemon.lib.chunk_manifest import TransferManifest, hash_file
from agents.daemon.lib.errors import Failed, Superseded
from agents.daemon.lib.sizes import GIB, HEADROOM
from agents.daemon.transfer.transfer_protocol import EncryptedChannel, ReceiveDirectory, send_files
from agents.daemon.transfer.transfer_session import (
    COMPLETE_FILE,
    OpenPeer,
    PeerCredentials,
    SourceConnector,
    outcome_of,
    receive_transfer,
    retry_until_done,
)
from agents.protocol.progress_messages import say

Checkpoint = Callable[[str], None]

SEND: Final = "send_volume"
RECEIVE: Final = "receive_volume"
CLEAR: Final = "clear_volume"
FILE: Final = "volume.ext4"
_NO_ROOM: Final = "The host has no room for this volume."


class VolumeTransfer:
    """Transfers of one host's volumes.

    `args` of an order: source and target (32 hex digits), size_gb, and the credentials for the connection.
    """

    def __init__(self, volumes: LoopDisks, *, root: Path, sparse: bool, open_peer: OpenPeer, checkpoint: Checkpoint) -> None:
        self._volumes = volumes
        self._arriving = root / "volumes" / "moves"  # `LoopDisks.drop` looks there for incomplete transfers
        self._sparse = sparse
        self._open_peer = open_peer
        self._checkpoint = checkpoint

    def operators(self) -> Mapping[str, Operator]:
        return {SEND: self.send, RECEIVE: self.receive, CLEAR: self.clear}

    def send(self, operation: Operation) -> Mapping[str, str]:
        image = self._unmounted_image(checked_id(operation.order.args["source"]))
        operation.progress(0, 0, say("preparing_to_send"))
        manifest = TransferManifest((hash_file(FILE, image, lambda done, total: operation.check()),))
        self._checkpoint("volume-described")

        def exchange(line: EncryptedChannel) -> None:
            send_files(line, manifest, {FILE: image}, lambda done, total: operation.progress(done, total, say("sending")))

        credentials = PeerCredentials.of(operation.order.args, is_source=True)
        retry_until_done(SourceConnector(self._open_peer, credentials), operation, exchange)
        return {"checksum": manifest.whole, "bytes": str(manifest.sent_bytes)}

    def receive(self, operation: Operation) -> Mapping[str, str]:
        """Receive a volume.

        The record that all has arrived stays in the order's own folder: an image without it did not come by this
        order.
        """
        target = checked_id(operation.order.args["target"])
        image, _ = self._volumes.paths(target)
        inbox = ReceiveDirectory(self._own_folder(target, operation), self._volumes.allocate)
        try:
            if not inbox.path(COMPLETE_FILE).exists():
                self._delete_old_image(target)
                self._fetch(operation, inbox)
            self._checkpoint("volume-received")
            operation.check()
            if inbox.path(FILE).exists():
                keys = [checked_id(operation.order.args[name]) for name in ("source", "target")]
                check_received(inbox.path(FILE), keys, operation.check)
                self._install(operation, inbox.path(FILE), image)
            self._checkpoint("volume-in-place")
        except Superseded:
            if (
                operation.unwanted
            ):  # another order may be receiving the same volume by now, so only the own folder is deleted
                shutil.rmtree(inbox.folder, ignore_errors=True)
            raise
        if not image.exists():
            raise Failed("disk_missing", "The volume that came is gone from the host.")
        return outcome_of(inbox)

    def clear(self, operation: Operation) -> Mapping[str, str]:
        self._volumes.delete(checked_id(operation.order.args["volume"]))
        self._checkpoint("volume-cleared")
        return {}

    # -- the source

    def _unmounted_image(self, volume: str) -> Path:
        image, _ = self._volumes.paths(volume)
        if not image.exists():
            raise Failed("disk_missing", "The volume is not on this host.")
        if not self._volumes.unmount_and_wait(volume):  # an unknown container uses it: a copy would be inconsistent
            raise Failed("operation_failed", "Something on the host still has the volume mounted.")
        return image

    # -- the target

    def _fetch(self, operation: Operation, inbox: ReceiveDirectory) -> None:
        size = int(operation.order.args["size_gb"]) * GIB
        try:
            receive_transfer(
                self._open_peer,
                operation,
                inbox,
                (FILE,),
                check_room=lambda manifest: self._check_room(manifest, inbox, size),
                came=lambda: self._checkpoint("volume-chunk"),
            )
        except DiskFull as error:
            raise Failed("disk_full", _NO_ROOM) from error

    def _check_room(self, manifest: TransferManifest, inbox: ReceiveDirectory, size: int) -> None:
        """Check the room, before the first byte.

        Raises:
            Failed: The host has no room, or the volume is larger than ordered.
        """
        whole = manifest.files[0].size
        if whole > size:
            raise Failed("bad_parcel", "The volume that arrives is larger than the one that was ordered.")
        there = inbox.path(FILE)
        needed = (manifest.sent_bytes if self._sparse else whole) - (allocated_bytes(there) if there.exists() else 0)
        if shutil.disk_usage(inbox.folder).free < needed + HEADROOM:
            raise Failed("disk_full", _NO_ROOM)

    def _delete_old_image(self, target: str) -> None:
        """Delete an old image of this name, unless something uses it.

        Raises:
            Failed: Something uses it.
        """
        image, mount = self._volumes.paths(target)
        if mount.is_mount() or (image.exists() and not ext4.wait_until_detached(image)):
            raise Failed("operation_failed", "The volume is on this host already, and in use.")
        image.unlink(missing_ok=True)

    def _install(self, operation: Operation, file: Path, image: Path) -> None:
        ext4.relabel(file, checked_id(operation.order.args["target"]))
        file.replace(image)
        try:
            operation.check()
        except Superseded:
            if operation.unwanted:  # its removal may have happened a moment ago
                image.unlink(missing_ok=True)
            raise
        sync_folder(image.parent)

    def _own_folder(self, target: str, operation: Operation) -> Path:
        own = self._arriving / f"{target}-{operation.order.id}"
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in self._arriving.glob(f"{target}-*"):  # of cancelled orders
            if folder != own:
                shutil.rmtree(folder, ignore_errors=True)
        return own


def simulated_volume_transfers() -> Mapping[str, Operator]:
    """Return operators for a simulated host: they report success and touch nothing."""

    def arrived(operation: Operation) -> Mapping[str, str]:
        return {"checksum": "simulated", "bytes": "0", "simulated": "true"}

    return {SEND: arrived, RECEIVE: arrived, CLEAR: lambda operation: {}}
