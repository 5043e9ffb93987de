"""Parcels between two agents: chunks, checksums, cuts at any place, and lies."""

import hashlib
import json
import os
import queue
import threading
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.daemon.lib.chunk_manifest import (
    CHUNK,
    HOLE,
    BadManifest,
    Digests,
    FileManifest,
    TransferManifest,
    build_manifest,
    hash_file,
)
from agents.daemon.transfer import transfer_protocol
from agents.daemon.transfer.transfer_protocol import (
    PIECE,
    ConnectionLost,
    EncryptedChannel,
    ReceiveDirectory,
    receive_files,
    receive_manifest,
    send_files,
)

KEY = bytes(range(32))
NAMES = ("root.tar", "data.ext4")


@dataclass
class Pipe:
    """One end of a line in memory. It breaks after `lives` messages; `spoil` changes what passes."""

    inbox: "queue.Queue[bytes]"
    outbox: "queue.Queue[bytes]"
    lives: float = float("inf")
    spoil: Callable[[bytes], bytes] = bytes
    sent: list[int] = field(default_factory=list)

    def send(self, message: bytes) -> None:
        if self.lives <= 0:
            self.outbox.put(b"")
            raise ConnectionLost("cut")
        self.lives -= 1
        self.sent.append(len(message))
        self.outbox.put(self.spoil(message))

    def recv(self, timeout: float = 60.0) -> bytes:
        try:
            return self.inbox.get(timeout=10)
        except queue.Empty as error:
            raise ConnectionLost("silent") from error

    def close(self) -> None:
        self.outbox.put(b"")


def pipes() -> tuple[Pipe, Pipe]:
    there: queue.Queue[bytes] = queue.Queue()
    back: queue.Queue[bytes] = queue.Queue()
    return Pipe(back, there), Pipe(there, back)


def sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def make_files(folder: Path, seed: int = 1) -> dict[str, Path]:
    """A root of 3.3 chunks, and a disk of 9 with data in two places."""
    root, disk = folder / NAMES[0], folder / NAMES[1]
    root.write_bytes((bytes([seed]) + os.urandom(1023)) * 512 * 3 + b"tail" * 40_000)
    sparse(disk, 9 * CHUNK)
    with disk.open("r+b") as file:
        file.seek(2 * CHUNK + 17)
        file.write(os.urandom(CHUNK))
        file.seek(8 * CHUNK)
        file.write(b"end of the disk")
    return {NAMES[0]: root, NAMES[1]: disk}


def parcel_from(files: dict[str, Path]) -> TransferManifest:
    return TransferManifest(tuple(hash_file(name, path) for name, path in files.items()))


def carry(files: dict[str, Path], inbox: ReceiveDirectory, source: Pipe, target: Pipe, key: bytes = KEY) -> int | Exception:
    """One call of both sides; the first chunk that was asked for, or what the target met."""
    manifest = parcel_from(files)

    def send() -> None:
        with suppress(ConnectionLost):
            send_files(EncryptedChannel(source, KEY, is_source=True), manifest, files, lambda done, total: None)
        source.close()

    sender = threading.Thread(target=send)
    sender.start()
    line = EncryptedChannel(target, key, is_source=False)
    first: list[int] = []
    try:
        receive_files(line, receive_manifest(line, tuple(files)), inbox, lambda done, total: None, first.append)
        return first[0]
    except (ConnectionLost, BadManifest) as error:
        return error
    finally:
        target.close()
        sender.join(10)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "source").mkdir()
    return make_files(tmp_path / "source")


@pytest.fixture
def inbox(tmp_path: Path) -> ReceiveDirectory:
    (tmp_path / "target").mkdir()
    return ReceiveDirectory(tmp_path / "target", sparse)


def arrived(files: dict[str, Path], inbox: ReceiveDirectory) -> bool:
    return all(inbox.path(name).read_bytes() == path.read_bytes() for name, path in files.items())


def test_a_parcel_arrives_whole_and_its_holes_stay_at_home(files: dict[str, Path], inbox: ReceiveDirectory) -> None:
    source, target = pipes()
    assert carry(files, inbox, source, target) == 0
    assert arrived(files, inbox)
    # 4 chunks of the root and 3 of the disk (the written megabyte lies across two, and the end), not all 13.
    assert parcel_from(files).sent_bytes == files["root.tar"].stat().st_size + 3 * CHUNK
    assert sum(source.sent) < files["root.tar"].stat().st_size + 3 * CHUNK + 4096


@settings(max_examples=12, deadline=None)
@given(cuts=st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_whatever_is_cut_goes_on_where_it_broke(cuts: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("cuts")
    (folder / "source").mkdir()
    (folder / "target").mkdir()
    files, inbox = make_files(folder / "source"), ReceiveDirectory(folder / "target", sparse)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transfer_protocol, "KEEP_EVERY", 1)
        firsts = []
        for lives in cuts:
            source, target = pipes()
            source.lives = lives
            firsts.append(carry(files, inbox, source, target))
        source, target = pipes()
        last = carry(files, inbox, source, target)
    assert isinstance(last, int) and arrived(files, inbox)
    # Two messages describe the files; every chunk that came before a cut is not asked for again.
    came = max([lives - 2 for lives, met in zip(cuts, firsts, strict=True) if not isinstance(met, int)], default=0)
    assert last >= came


def test_the_source_hears_that_it_may_go_when_that_has_been_noted(files: dict[str, Path], inbox: ReceiveDirectory) -> None:
    """Killed in that moment, the target needs the source once more: it must not have gone."""
    source, target = pipes()
    ended: list[str] = []

    def send() -> None:
        try:
            send_files(EncryptedChannel(source, KEY, is_source=True), parcel_from(files), files, lambda done, total: None)
            ended.append("done")
        except ConnectionLost:
            ended.append("cut")

    def killed(first: int) -> None:
        raise KeyboardInterrupt

    sender = threading.Thread(target=send)
    sender.start()
    line = EncryptedChannel(target, KEY, is_source=False)
    with pytest.raises(KeyboardInterrupt):
        receive_files(line, receive_manifest(line, tuple(files)), inbox, lambda done, total: None, killed)
    target.close()
    sender.join(10)
    assert ended == ["cut"] and arrived(files, inbox)


def test_another_source_than_before_begins_anew(files: dict[str, Path], inbox: ReceiveDirectory) -> None:
    source, target = pipes()
    source.lives = 5
    assert isinstance(carry(files, inbox, source, target), ConnectionLost)
    make_files(files["root.tar"].parent, seed=2)
    source, target = pipes()
    assert carry(files, inbox, source, target) == 0
    assert arrived(files, inbox)


def test_what_rots_on_the_target_is_fetched_again(files: dict[str, Path], inbox: ReceiveDirectory) -> None:
    """A note says that a chunk is there, but the disk lost it: the look at the whole finds it, and it comes again."""
    source, target = pipes()
    assert carry(files, inbox, source, target) == 0
    with inbox.path("root.tar").open("r+b") as file:
        file.seek(CHUNK)
        file.write(b"rotten")
    with inbox.path("data.ext4").open("r+b") as file:
        file.seek(2 * CHUNK)
        file.write(bytes(CHUNK))
    source, target = pipes()
    assert carry(files, inbox, source, target) == parcel_from(files).count
    assert arrived(files, inbox)
    assert sum(source.sent) < 4 * CHUNK


@pytest.mark.parametrize("at", [0, 1, 3])
def test_nobody_in_between_can_change_or_read_anything(files: dict[str, Path], inbox: ReceiveDirectory, at: int) -> None:
    source, target = pipes()
    seen: list[bytes] = []

    def spoil(message: bytes) -> bytes:
        seen.append(message)
        return message[:-1] + bytes([message[-1] ^ 1]) if len(seen) == at + 1 else message

    source.spoil = spoil
    assert isinstance(carry(files, inbox, source, target), ConnectionLost)
    assert not any(b"root.tar" in message or b"tailtailtail" in message for message in seen)


def test_another_key_gets_nothing(files: dict[str, Path], inbox: ReceiveDirectory) -> None:
    source, target = pipes()
    assert isinstance(carry(files, inbox, source, target, key=bytes(32)), ConnectionLost)


def test_other_files_than_asked_for_are_refused(files: dict[str, Path]) -> None:
    source, target = pipes()
    line, far = EncryptedChannel(source, KEY, is_source=True), EncryptedChannel(target, KEY, is_source=False)
    line.send_json(names=["../../etc/passwd"], sizes=[1], whole="", listed=0)
    with pytest.raises(BadManifest):
        receive_manifest(far, NAMES)


def test_a_list_longer_than_any_instance_has_is_not_listened_to(files: dict[str, Path]) -> None:
    source, target = pipes()
    line, far = EncryptedChannel(source, KEY, is_source=True), EncryptedChannel(target, KEY, is_source=False)
    line.send_json(names=list(NAMES), sizes=[2**60, 2**60], whole="", listed=2**50)
    with pytest.raises(BadManifest, match="more than any instance"):
        receive_manifest(far, NAMES)


@pytest.mark.parametrize("parts", [5, {"a": 1}, ["abc"], [["a", "b", 1]], [["a", -1, 5]], [["a", 0, CHUNK + 1]]])
def test_parts_that_do_not_lie_in_the_file_are_refused(parts: object) -> None:
    source, target = pipes()
    line, far = EncryptedChannel(source, KEY, is_source=True), EncryptedChannel(target, KEY, is_source=False)
    manifest = TransferManifest((FileManifest("root.tar", CHUNK, Digests(HOLE)),))
    line.send_json(names=["root.tar"], sizes=[CHUNK], whole=manifest.whole, listed=32, parts=parts)
    line.send(HOLE)
    with pytest.raises(BadManifest):
        receive_manifest(far, ("root.tar",))


def test_one_that_tells_of_no_parts_sends_everything(files: dict[str, Path], inbox: ReceiveDirectory) -> None:
    """An agent of before; and whoever receives asks nobody to skip what it did not name."""
    source, target = pipes()
    line, far = EncryptedChannel(source, KEY, is_source=True), EncryptedChannel(target, KEY, is_source=False)
    manifest = parcel_from(files)
    digests = b"".join(digest for file in manifest.files for digest in file.digests)
    line.send_json(
        names=[file.name for file in manifest.files],
        sizes=[file.size for file in manifest.files],
        whole=manifest.whole,
        listed=len(digests),
    )
    line.send(digests)
    heard = receive_manifest(far, tuple(files))
    assert heard.without({"anything"}) == manifest


def test_a_list_that_does_not_match_its_checksum_is_refused() -> None:
    file = FileManifest("root.tar", CHUNK, Digests(b"x" * 32))
    whole = TransferManifest((file,)).whole
    assert build_manifest(["root.tar"], [CHUNK], b"x" * 32, whole) == TransferManifest((file,))
    for sizes, digests in [([CHUNK], b"y" * 32), ([CHUNK], b"x" * 64), ([CHUNK - 1], b"x" * 32), ([-1], b"")]:
        with pytest.raises(BadManifest):
            build_manifest(["root.tar"], sizes, digests, whole)


def test_a_file_of_zeros_is_all_hole(tmp_path: Path) -> None:
    path = tmp_path / "zeros"
    path.write_bytes(bytes(CHUNK + 5))
    assert [*hash_file("zeros", path).digests] == [HOLE, HOLE]
    assert [*hash_file("empty", Path(os.devnull)).digests] == []


class Listing(EncryptedChannel):
    """Another host that lists the chunks of a file of this size, and says nothing else."""

    def __init__(self, size: int) -> None:
        count = -(-size // CHUNK)
        self._size = size
        state = hashlib.sha256(json.dumps([["root.tar", size]]).encode())
        state.update(b"x" * 32 * count)
        self._manifest: dict[str, Any] = {
            "names": ["root.tar"],
            "sizes": [size],
            "whole": state.hexdigest(),
            "listed": 32 * count,
        }
        self._left = 32 * count

    def receive_json(self, *names: str) -> dict[str, Any]:
        return self._manifest | {"parts": [[str(number), 0, self._size] for number in range(20)]}

    def receive(self, timeout: float = 0.0) -> bytes:
        length = min(PIECE, self._left)
        self._left -= length
        return b"x" * length


def test_a_list_of_a_very_large_file_fits_into_an_agents_memory() -> None:
    """Its unit gives it 256 MiB: another host would have it killed, time and again."""
    line = Listing(128 * 1024**3)
    tracemalloc.start()
    try:
        manifest = receive_manifest(line, ("root.tar",)).without([str(number) for number in range(20)])
        assert manifest.sent_bytes == 0 and manifest.count == 256 * 1024
        assert tracemalloc.get_traced_memory()[1] < 4 * 8 * 1024**2, "of a list of 8 MiB"
    finally:
        tracemalloc.stop()
