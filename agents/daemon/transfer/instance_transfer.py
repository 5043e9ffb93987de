"""Operators of clones and moves: a copy on the same host, or a transfer between hosts; all can resume.

`copy_root`     copy the root, and the data disk if ordered, of one instance to another one on this host
`send_root`     send the same to another host
`receive_root`  receive it there; the saved root is made last, so that it proves that everything is there
"""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agents.daemon.disks import ext4
from agents.daemon.disks.block_copy import allocated_bytes, copy_changed_blocks, sums_on_disk
from agents.daemon.disks.loop_disks import DiskFull, Disks, LoopDisks
from agents.daemon.disks.operation_runner import Operation, Operator
from agents.daemon.disks.received_ext4 import check_received
from agents.daemon.docker_engine.image_archives import TOO_LARGE
from agents.daemon.engine.interface import Runtime
from agents.daemon.lib.atomic_files import sync_folder
from agents.daemon.lib.chunk_manifest import TransferManifest, hash_file
from agents.daemon.lib.errors import Failed, Superseded
from agents.daemon.lib.sizes import GIB, HEADROOM
from agents.daemon.transfer.root_export import RootStore, roots_of
from agents.daemon.transfer.transfer_protocol import EncryptedChannel, ReceiveDirectory, send_files
from agents.daemon.transfer.transfer_session import (
    COMPLETE_FILE,
    ListenAt,
    OpenPeer,
    PeerCredentials,
    SourceConnector,
    outcome_of,
    receive_transfer,
    retry_until_done,
)
from agents.protocol.progress_messages import say

Checkpoint = Callable[[str], None]

ROOT: Final = "root.tar"
DISK: Final = "data.ext4"
NO_ROOM: Final = "The host has no room for this instance."
STALE_AFTER: Final = 2 * 24 * 3600.0  # seconds; left by operations that were cancelled while their agent was down


@dataclass(frozen=True)
class TransferOrder:
    """Content of an order."""

    source: str
    target: str
    number: int
    disk_gb: int
    root_bytes: int  # limit for the unpacked root; 0: unknown
    image: str  # image that the root is based on; "": unknown

    @property
    def names(self) -> tuple[str, ...]:
        return (ROOT, DISK) if self.disk_gb else (ROOT,)


def _read(operation: Operation) -> TransferOrder:
    args = operation.order.args
    return TransferOrder(
        source=args["source"],
        target=args["target"],
        number=int(args["number"]),
        disk_gb=int(args["disk_gb"]),
        root_bytes=int(args.get("root_bytes", "0")),
        image=args.get("image", ""),
    )


class InstanceTransfer:
    """Transfers roots and data disks of one host."""

    def __init__(
        self,
        *,
        roots: RootStore,
        disks: LoopDisks,
        state: Path,
        open_peer: OpenPeer,
        listen_at: ListenAt = lambda port: "",
        checkpoint: Checkpoint = lambda name: None,
    ) -> None:
        self._roots = roots
        self._disks = disks
        self._folder = state / "moves"
        self._open_peer = open_peer
        self._listen_at = listen_at
        self._checkpoint = checkpoint

    def operators(self) -> Mapping[str, Operator]:
        return {"copy_root": self.copy, "send_root": self.send, "receive_root": self.receive}

    # -- on one host

    def copy(self, operation: Operation) -> Mapping[str, str]:
        order = _read(operation)
        with self._clean_when_unwanted(operation, order):
            if self._roots.is_there(order.target, order.number):
                return {}
            if order.disk_gb:
                self._copy_disk(operation, order)
            operation.progress(operation.seen.done_bytes, operation.seen.total_bytes, say("copying_system_disk"))
            self._roots.copy(order.source, order.target, order.number)
            self._checkpoint("root-copied")
            operation.check()
        return {}

    def _copy_disk(self, operation: Operation, order: TransferOrder) -> None:
        image, _ = self._disks.paths(order.target)
        if image.exists():
            return
        source = self._unmounted_disk(order)
        spare, total = image.with_suffix(".new"), 2 * allocated_bytes(source)
        spare.unlink(missing_ok=True)
        try:
            self._disks.allocate(spare, source.stat().st_size)
        except DiskFull as error:
            raise Failed("disk_full", "The host has no room for another data disk.") from error
        done = 0

        def report_progress(count: int) -> None:
            nonlocal done
            done += count
            operation.progress(min(done, total), total, say("copying_data_disk"))

        sums = copy_changed_blocks(source, spare, {}, report_progress)
        self._checkpoint("disk-copied")
        if sums_on_disk(spare, report_progress) != sums:
            raise Failed("copy_damaged", "The copy of the data disk is not as its original.")
        ext4.relabel(spare, order.target)
        spare.replace(image)
        sync_folder(image.parent)
        self._checkpoint("disk-in-place")

    def _unmounted_disk(self, order: TransferOrder) -> Path:
        image, _ = self._disks.paths(order.source)
        if not image.exists():
            raise Failed("disk_missing", "The instance's data disk is gone from the host.")
        if not self._disks.unmount_and_wait(order.source):  # a copy made now could lack the last writes
            raise Failed("operation_failed", "Something on the host still has the data disk mounted.")
        return image

    # -- to another host

    def send(self, operation: Operation) -> Mapping[str, str]:
        order = _read(operation)
        folder = self._own_folder(operation, order)
        try:
            return self._send(operation, order, folder)
        finally:
            if operation.unwanted or not operation.cancelled.is_set():  # else the agent ends, and continues later
                self._roots.forget(operation.order.id)
                shutil.rmtree(folder, ignore_errors=True)

    def _send(self, operation: Operation, order: TransferOrder, folder: Path) -> Mapping[str, str]:
        root = folder / ROOT
        if not root.exists():
            self._export_root(operation, order, root)
        self._checkpoint("taken-out")
        files = {ROOT: root} | ({DISK: self._unmounted_disk(order)} if order.disk_gb else {})
        hashed = tuple(hash_file(name, path, _looking(operation)) for name, path in files.items())
        manifest = TransferManifest(hashed, self._roots.parts(root))
        self._checkpoint("described")
        sent = manifest

        def exchange(line: EncryptedChannel) -> None:
            nonlocal sent
            sent = send_files(line, manifest, files, lambda done, total: operation.progress(done, total, say("sending")))

        credentials = PeerCredentials.of(operation.order.args, is_source=True)
        retry_until_done(SourceConnector(self._open_peer, credentials), operation, exchange)
        return {"checksum": sent.whole, "bytes": str(sent.sent_bytes)}

    def _export_root(self, operation: Operation, order: TransferOrder, path: Path) -> None:
        progress = say("packing_system_disk")
        operation.progress(0, 0, progress)
        self._roots.export(
            order.source,
            order.target,
            operation.order.id,
            path,
            lambda done, total: operation.progress(done, total, progress),
        )

    # -- from another host

    def receive(self, operation: Operation) -> Mapping[str, str]:
        order = _read(operation)
        inbox = ReceiveDirectory(self._own_folder(operation, order), self._disks.allocate)
        with self._clean_when_unwanted(operation, order):
            if not self._roots.is_there(order.target, order.number):
                self._receive_and_import(operation, order, inbox)
                operation.check()
        outcome = outcome_of(inbox)
        self._roots.forget(operation.order.id)
        shutil.rmtree(inbox.folder, ignore_errors=True)  # also if an agent was killed before this line
        return outcome

    def _receive_and_import(self, operation: Operation, order: TransferOrder, inbox: ReceiveDirectory) -> None:
        if not inbox.path(COMPLETE_FILE).exists():
            self._fetch(operation, order, inbox)
        self._checkpoint("received")
        self._import_files(operation, order, inbox)

    def _fetch(self, operation: Operation, order: TransferOrder, inbox: ReceiveDirectory) -> None:
        try:
            receive_transfer(
                self._open_peer,
                operation,
                inbox,
                order.names,
                check_room=lambda manifest: self._check_room(manifest, inbox, order),
                came=lambda: self._checkpoint("chunk"),
                known=lambda manifest: self._present_layers(operation, order) if manifest.parts else (),
                listen_at=self._listen_at,
            )
        except DiskFull as error:
            raise Failed("disk_full", NO_ROOM) from error

    def _check_room(self, manifest: TransferManifest, inbox: ReceiveDirectory, order: TransferOrder) -> None:
        """Check the room, before the first byte.

        The root needs its size three times: as a file, unpacked, and as the engine's layers.

        Raises:
            Failed: The host has no room, or the manifest exceeds what was rented.
        """
        sizes = {file.name: file.size for file in manifest.files}
        if sizes.get(DISK, 0) > order.disk_gb * GIB:
            raise Failed("bad_parcel", "The data disk that arrives is larger than the one that was rented.")
        if order.root_bytes and sizes[ROOT] > order.root_bytes:
            raise Failed("system_disk_full", TOO_LARGE)
        there = sum(allocated_bytes(inbox.path(name)) for name in sizes if inbox.path(name).exists())
        needed = manifest.sent_bytes + 2 * sizes[ROOT] - there
        if shutil.disk_usage(inbox.folder).free < needed + HEADROOM:
            raise Failed("disk_full", NO_ROOM)

    def _import_files(self, operation: Operation, order: TransferOrder, inbox: ReceiveDirectory) -> None:
        """Put the data disk in place first: the saved root shows that everything is there."""
        operation.progress(operation.seen.total_bytes, operation.seen.total_bytes, say("unpacking_system_disk"))
        image, _ = self._disks.paths(order.target)
        if order.disk_gb and inbox.path(DISK).exists():
            check_received(inbox.path(DISK), (order.source, order.target), operation.check)
            ext4.relabel(inbox.path(DISK), order.target)
            inbox.path(DISK).replace(image)
            sync_folder(image.parent)
        self._checkpoint("disk-in-place")
        if order.disk_gb and not image.exists():
            raise Failed("disk_missing", "The data disk that came is gone from the host.")
        held = self._present_layers(operation, order)
        self._roots.import_root(inbox.path(ROOT), order.target, order.number, most=order.root_bytes, held=held)
        self._checkpoint("root-in-place")

    def _present_layers(self, operation: Operation, order: TransferOrder) -> frozenset[str]:
        """Return the layers that are present of the instance's own image.

        Layers of other images here may hold data of other renters.
        """
        return self._roots.hold(order.image, operation.order.id) if order.image else frozenset()

    # -- both

    @contextmanager
    def _clean_when_unwanted(self, operation: Operation, order: TransferOrder) -> Iterator[None]:
        """Delete what was made if the order is withdrawn, since the instance may be proven gone already."""
        try:
            yield
        except Superseded:
            if operation.unwanted:
                self._roots.delete(order.target, order.number)
                self._roots.forget(operation.order.id)
                self._disks.delete(order.target)
            raise

    def _own_folder(self, operation: Operation, order: TransferOrder) -> Path:
        """Make the order's folder, after deleting old folders of others.

        Its name starts with the target, so that deleting the target deletes it too.
        """
        own = self._folder / f"{order.target}-{operation.order.id}"
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        oldest = time.time() - STALE_AFTER
        for folder in self._folder.iterdir():
            if folder != own and folder.stat().st_mtime < oldest:
                self._roots.forget(folder.name.partition("-")[2])
                shutil.rmtree(folder, ignore_errors=True)
        return own


def _looking(operation: Operation) -> Callable[[int, int], None]:
    return lambda done, total: operation.check()


def transfer_operators(
    runtime: Runtime,
    disks: Disks,
    *,
    state: Path,
    open_peer: OpenPeer,
    listen_at: ListenAt = lambda port: "",
    checkpoint: Checkpoint = lambda name: None,
) -> Mapping[str, Operator]:
    """Return the operators; without containers they end at once, and a root exists once it is named."""
    roots = roots_of(runtime)
    if isinstance(disks, LoopDisks):
        mover = InstanceTransfer(
            roots=roots, disks=disks, state=state, open_peer=open_peer, listen_at=listen_at, checkpoint=checkpoint
        )
        return mover.operators()

    def arrive(operation: Operation) -> Mapping[str, str]:
        order = _read(operation)
        roots.copy(order.source, order.target, order.number)
        return {"simulated": "1"}

    return {"copy_root": arrive, "send_root": lambda operation: {"simulated": "1"}, "receive_root": arrive}
