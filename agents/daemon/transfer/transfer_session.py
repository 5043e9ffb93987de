"""The way between two hosts: dialled again after every cut, for as long as something still gets through."""

import json
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Final

from agents.daemon.disks.operation_runner import Operation
from agents.daemon.lib.atomic_files import sync_folder, write_whole
from agents.daemon.lib.chunk_manifest import BadManifest, Parcel
from agents.daemon.lib.errors import Failed
from agents.daemon.transfer.direct_connection import ClosableLine, Listener, Meeting, Opened, dial
from agents.daemon.transfer.transfer_protocol import EncryptedChannel, Inbox, hear_parcel, receive_parcel

STALLED_AFTER: Final = 1800.0  # seconds without a byte that got through: then nobody is on the other side any more
PAUSE: Final = 2.0
DIRECT_LINES: Final = 3  # that may break before the relay is taken
TALLY: Final = "tally.json"
COMPLETE: Final = "complete.json"


ListenAt = Callable[[int], str]  # the address at which a call to this port may come; "": none
OpenPair = Callable[[str, str], ClosableLine]  # (pair, ticket); raises an OSError when the other side does not come


@dataclass(frozen=True)
class Way:
    """How the two meet, and the key that only they have. `address` and `port`: where the target may be called directly."""

    pair: str
    ticket: str
    key: bytes
    is_source: bool
    address: str = ""
    port: int = 0
    private: bool = False  # that address may be one of a LAN

    @classmethod
    def of(cls, args: Mapping[str, str], *, is_source: bool) -> "Way":
        return cls(
            args["pair"],
            args["ticket"],
            bytes.fromhex(args["key"]),
            is_source,
            address=args.get("direct_address", ""),
            port=int(args.get("direct_port", "0")),
            private=args.get("direct_private", "") == "1",
        )

    def by_relay(self, open_pair: OpenPair) -> Opened:
        line = open_pair(self.pair, self.ticket)
        return Opened(line, EncryptedChannel(line, self.key, is_source=self.is_source))


class Calling:
    """The source's way to the target: directly while that holds, else by the relay."""

    def __init__(self, open_pair: OpenPair, way: Way) -> None:
        self._open_pair, self._way = open_pair, way
        self._left = DIRECT_LINES if way.address and way.port else 0

    def __call__(self) -> Opened:
        if self._left:
            with suppress(OSError):
                opened = dial(self._way.address, self._way.port, self._way.key, private=self._way.private)
                self._left -= 1
                return opened
        return self._way.by_relay(self._open_pair)


def talk_until_through(
    open_line: Callable[[], Opened], operation: Operation, talk: Callable[[EncryptedChannel], None]
) -> None:
    """Open a line again after every cut. Raises Failed when what comes is wrong, or nobody came for too long."""
    moved, since = operation.seen.done_bytes, time.monotonic()
    while (fault := _dial(open_line, talk)) is not None:
        seen = operation.seen
        if fault:
            operation.progress(seen.done_bytes, seen.total_bytes, f"Cut off: {fault}. Dialling again."[:300])
        if seen.done_bytes > moved:
            moved, since = seen.done_bytes, time.monotonic()
        if time.monotonic() - since > STALLED_AFTER:
            raise Failed("line_lost", "The two hosts could not reach each other for too long.")
        operation.cancelled.wait(PAUSE)
        operation.check()


def _dial(open_line: Callable[[], Opened], talk: Callable[[EncryptedChannel], None]) -> str | None:
    """Why it was cut off, "" when nobody was there to talk to; None when all went through."""
    try:
        opened = open_line()
    except OSError:
        return ""  # the other side is still packing, or away
    try:
        talk(opened.sealed)
    except BadManifest as error:
        raise Failed("copy_damaged", f"The copy did not arrive whole: {error}.") from error
    except OSError as error:  # ConnectionLost, or what the line itself raises
        return str(error) or type(error).__name__
    finally:
        with suppress(OSError):
            opened.line.close()
    return None


@dataclass
class Tally:
    """How often it was begun, and the highest place at which it went on; kept beside what has come, over restarts too."""

    lines: int = 0
    resumed: int = 0

    @classmethod
    def of(cls, inbox: Inbox, *, lines: int = 0, resumed: int = 0) -> "Tally":
        """With this added to what is known."""
        place = inbox.path(TALLY)
        known = cls(**json.loads(place.read_text())) if place.exists() else cls()
        fresh = cls(known.lines + lines, max(known.resumed, resumed))
        spare = place.with_suffix(".new")
        spare.write_text(json.dumps(vars(fresh)))
        spare.replace(place)
        return fresh

    @property
    def words(self) -> dict[str, str]:
        return {"cuts": str(self.lines - 1), "resumed_at": str(self.resumed)}


def fetch_parcel(
    open_pair: OpenPair,
    operation: Operation,
    inbox: Inbox,
    names: tuple[str, ...],
    *,
    check_room: Callable[[Parcel], None],
    came: Callable[[], None],
    known: Callable[[Parcel], Collection[str]] = lambda parcel: (),
    listen_at: ListenAt = lambda port: "",
) -> None:
    """Take in what the other host sends; `came` is called as it gets on. Afterwards `COMPLETE` is in the inbox.

    `known` tells which of its parts are on this host already, and need not come. `listen_at` lets the source call.

    Raises Failed, and DiskFull when the room goes that `check_room` saw.
    """

    def progress(done: int, total: int) -> None:
        operation.progress(done, total, "Receiving." if done < total else "Checking everything that came.")
        came()

    def talk(line: EncryptedChannel) -> None:
        parcel = hear_parcel(line, names)
        parcel = parcel.without(known(parcel))
        Tally.of(inbox, lines=1)
        check_room(parcel)
        receive_parcel(line, parcel, inbox, progress, lambda first: _note_arrival(inbox, parcel, first, came_by))

    way, meeting, came_by = Way.of(operation.order.args, is_source=False), Meeting(), ""

    def open_line() -> Opened:
        nonlocal came_by
        opened = meeting.wait(lambda: way.by_relay(open_pair))
        came_by = "direct" if opened.direct else "relay"
        return opened

    with ExitStack() as ends:
        if place := listen_at(way.port):
            with suppress(OSError):  # the port is in use: by the relay, then
                ends.callback(Listener(place, way.port, way.key, meeting.called).close)
        talk_until_through(open_line, operation, talk)


def _note_arrival(inbox: Inbox, parcel: Parcel, first: int, came_by: str) -> None:
    tally = Tally.of(inbox, resumed=parcel.bytes_before(first))
    outcome = {"checksum": parcel.whole, "bytes": str(parcel.sent_bytes), "way": came_by, **tally.words}
    complete = inbox.path(COMPLETE)
    write_whole(complete, json.dumps(outcome).encode())
    sync_folder(complete.parent)


def outcome_of(inbox: Inbox) -> dict[str, str]:
    """What was noted when all had come; nothing once the inbox has been cleared away."""
    complete = inbox.path(COMPLETE)
    if not complete.exists():
        return {}
    return {str(name): str(value) for name, value in json.loads(complete.read_text()).items()}
