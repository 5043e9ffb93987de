"""Connection of two hosts for a transfer, opened again after each loss while data still gets through."""

import json
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Final

from agents.daemon.disks.operation_runner import Operation
from agents.daemon.lib.atomic_files import sync_folder, write_atomically
from agents.daemon.lib.chunk_manifest import BadManifest, TransferManifest
from agents.daemon.lib.errors import Failed
from agents.daemon.transfer.direct_connection import ClosableChannel, ConnectionRendezvous, Listener, OpenConnection, dial
from agents.daemon.transfer.transfer_protocol import EncryptedChannel, ReceiveDirectory, receive_files, receive_manifest
from agents.protocol.progress_messages import CUT_OFF, say

STALLED_AFTER: Final = 1800.0  # seconds without any progress, after which the other side counts as gone
PAUSE: Final = 2.0
DIRECT_ATTEMPTS: Final = 3  # direct connections that may break before the relay is used
COUNT_FILE: Final = "tally.json"
COMPLETE_FILE: Final = "complete.json"


ListenAt = Callable[[int], str]  # returns the address to listen on for a port; "": none
OpenPeer = Callable[[str, str], ClosableChannel]  # (pair, ticket); raises OSError if the other side does not come


@dataclass(frozen=True)
class PeerCredentials:
    """Credentials and addresses by which the two hosts meet; only they have the key.

    `address` and `port` say where the target may be dialled directly.
    """

    pair: str
    ticket: str
    key: bytes
    is_source: bool
    address: str = ""
    port: int = 0
    private: bool = False  # that address may be a private one

    @classmethod
    def of(cls, args: Mapping[str, str], *, is_source: bool) -> "PeerCredentials":
        return cls(
            args["pair"],
            args["ticket"],
            bytes.fromhex(args["key"]),
            is_source,
            address=args.get("direct_address", ""),
            port=int(args.get("direct_port", "0")),
            private=args.get("direct_private", "") == "1",
        )

    def by_relay(self, open_peer: OpenPeer) -> OpenConnection:
        line = open_peer(self.pair, self.ticket)
        return OpenConnection(line, EncryptedChannel(line, self.key, is_source=self.is_source))


class SourceConnector:
    """The source's connections to the target: direct ones as long as they hold, else through the relay."""

    def __init__(self, open_peer: OpenPeer, credentials: PeerCredentials) -> None:
        self._open_peer, self._credentials = open_peer, credentials
        self._left = DIRECT_ATTEMPTS if credentials.address and credentials.port else 0

    def __call__(self) -> OpenConnection:
        if direct := self._dial():
            return direct
        relayed = self._credentials.by_relay(self._open_peer)
        # The target is there by now; at the first attempt it may not have had its order, and so not listened yet.
        if direct := self._dial():
            with suppress(OSError):
                relayed.line.close()
            return direct
        return relayed

    def _dial(self) -> OpenConnection | None:
        if not self._left:
            return None
        credentials = self._credentials
        with suppress(OSError):
            opened = dial(credentials.address, credentials.port, credentials.key, private=credentials.private)
            self._left -= 1
            return opened
        return None


def retry_until_done(
    open_line: Callable[[], OpenConnection], operation: Operation, exchange: Callable[[EncryptedChannel], None]
) -> None:
    """Run `exchange` on new connections until one succeeds.

    Raises:
        Failed: The data is wrong, or there was no progress for too long.
    """
    moved, since = operation.seen.done_bytes, time.monotonic()
    while (fault := _dial(open_line, exchange)) is not None:
        seen = operation.seen
        if fault:
            operation.progress(seen.done_bytes, seen.total_bytes, say(CUT_OFF, why=fault))
        if seen.done_bytes > moved:
            moved, since = seen.done_bytes, time.monotonic()
        if time.monotonic() - since > STALLED_AFTER:
            raise Failed("line_lost", "The two hosts could not reach each other for too long.")
        operation.cancelled.wait(PAUSE)
        operation.check()


def _dial(open_line: Callable[[], OpenConnection], exchange: Callable[[EncryptedChannel], None]) -> str | None:
    """Run `exchange` on one connection; return None on success, "" if nobody came, else the error.

    Raises:
        Failed: The data is wrong.
    """
    try:
        opened = open_line()
    except OSError:
        return ""  # the other side is still packing, or away
    try:
        exchange(opened.sealed)
    except BadManifest as error:
        raise Failed("copy_damaged", f"The copy did not arrive whole: {error}.") from error
    except OSError as error:  # ConnectionLost, or an error of the connection itself
        return str(error) or type(error).__name__
    finally:
        with suppress(OSError):
            opened.line.close()
    return None


@dataclass
class ConnectionCount:
    """Number of connections, and the highest place from which one resumed; kept over restarts."""

    lines: int = 0
    resumed: int = 0

    @classmethod
    def of(cls, inbox: ReceiveDirectory, *, lines: int = 0, resumed: int = 0) -> "ConnectionCount":
        """Add to the stored numbers and return them."""
        place = inbox.path(COUNT_FILE)
        known = cls(**json.loads(place.read_text())) if place.exists() else cls()
        fresh = cls(known.lines + lines, max(known.resumed, resumed))
        spare = place.with_suffix(".new")
        spare.write_text(json.dumps(vars(fresh)))
        spare.replace(place)
        return fresh

    @property
    def as_outcome(self) -> dict[str, str]:
        return {"cuts": str(self.lines - 1), "resumed_at": str(self.resumed)}


def receive_transfer(
    open_peer: OpenPeer,
    operation: Operation,
    inbox: ReceiveDirectory,
    names: tuple[str, ...],
    *,
    check_room: Callable[[TransferManifest], None],
    came: Callable[[], None],
    known: Callable[[TransferManifest], Collection[str]] = lambda manifest: (),
    listen_at: ListenAt = lambda port: "",
) -> None:
    """Receive the files; `came` is called on progress. Afterwards `COMPLETE_FILE` is in the folder.

    `known` returns the parts that this host already has, which are not sent. `listen_at` allows the source to
    connect directly.

    Raises:
        Failed: The transfer failed.
        DiskFull: The room that `check_room` found is gone.
    """

    def progress(done: int, total: int) -> None:
        operation.progress(done, total, say("receiving") if done < total else say("checking_received"))
        came()

    def exchange(line: EncryptedChannel) -> None:
        manifest = receive_manifest(line, names)
        manifest = manifest.without(known(manifest))
        ConnectionCount.of(inbox, lines=1)
        check_room(manifest)
        receive_files(line, manifest, inbox, progress, lambda first: _record_completion(inbox, manifest, first, came_by))

    credentials, meeting, came_by = PeerCredentials.of(operation.order.args, is_source=False), ConnectionRendezvous(), ""

    def open_line() -> OpenConnection:
        nonlocal came_by
        opened = meeting.wait(lambda: credentials.by_relay(open_peer))
        came_by = "direct" if opened.direct else "relay"
        return opened

    with ExitStack() as ends:
        if place := listen_at(credentials.port):
            with suppress(OSError):  # the port is in use, so the relay is used
                ends.callback(Listener(place, credentials.port, credentials.key, meeting.called).close)
        retry_until_done(open_line, operation, exchange)


def _record_completion(inbox: ReceiveDirectory, manifest: TransferManifest, first: int, came_by: str) -> None:
    tally = ConnectionCount.of(inbox, resumed=manifest.bytes_before(first))
    outcome = {"checksum": manifest.whole, "bytes": str(manifest.sent_bytes), "way": came_by, **tally.as_outcome}
    complete = inbox.path(COMPLETE_FILE)
    write_atomically(complete, json.dumps(outcome).encode())
    sync_folder(complete.parent)


def outcome_of(inbox: ReceiveDirectory) -> dict[str, str]:
    """Return the outcome recorded at the end; empty once the folder was deleted."""
    complete = inbox.path(COMPLETE_FILE)
    if not complete.exists():
        return {}
    return {str(name): str(value) for name, value in json.loads(complete.read_text()).items()}
