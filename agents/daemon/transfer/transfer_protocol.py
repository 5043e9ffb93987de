"""Resumable, encrypted transfer of files between two agents.

Every message is encrypted with a key that only the two agents have, so that the relay between them can neither read
nor change anything. When the connection breaks, the receiver asks for the next chunk that it does not have yet.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from agents.daemon.lib.chunk_manifest import (
    CHUNK,
    BadManifest,
    ContentRange,
    FileManifest,
    TransferManifest,
    build_manifest,
    hash_file,
)

PIECE: Final = 512 * 1024  # bytes of the list of digests in one message
LONGEST_LIST: Final = 64 * 1024 * 1024  # bytes of digests, for 1 TiB of data
MOST_PARTS: Final = 1024
KEEP_EVERY: Final = 32  # chunks between two records of the progress
ROUNDS: Final = 3
PATIENCE: Final = 120.0
PULSE: Final = 20.0
NUMBER_BYTES: Final = 8
_NONCE: Final = 12


class ConnectionLost(OSError):
    """The connection broke, or an unexpected message came: connect again and resume."""


class Channel(Protocol):
    """Whole messages of at most 1 MiB, in order; b"" once the other side has closed."""

    def send(self, message: bytes) -> None: ...

    def recv(self, timeout: float = 60.0) -> bytes: ...


class EncryptedChannel:
    """Channel encrypted with a transfer's key; no message can be sent back to its own sender."""

    def __init__(self, line: Channel, key: bytes, *, is_source: bool) -> None:
        self._line = line
        self._seal = AESGCM(key)
        self._own, self._other = (b"source", b"target") if is_source else (b"target", b"source")

    def send(self, message: bytes) -> None:
        nonce = os.urandom(_NONCE)
        self._line.send(nonce + self._seal.encrypt(nonce, message, self._own))

    def receive(self, timeout: float = PATIENCE) -> bytes:
        text = self._line.recv(timeout)
        if not text:
            raise ConnectionLost("the other host closed the line")
        try:
            return self._seal.decrypt(text[:_NONCE], text[_NONCE:], self._other)
        except (InvalidTag, ValueError) as error:
            raise ConnectionLost("what came was not from the other host") from error

    def send_json(self, **words: object) -> None:
        self.send(json.dumps(words).encode())

    def receive_json(self, *names: str) -> dict[str, Any]:
        try:
            words = json.loads(self.receive())
        except ValueError as error:
            raise ConnectionLost("the other host said what nobody understands") from error
        if not isinstance(words, dict) or not words.keys() >= {*names}:
            raise ConnectionLost("the other host said something else than expected")
        return words


Progress = Callable[[int, int], None]  # called with the bytes done and their total; may raise to abort


def send_files(
    line: EncryptedChannel, manifest: TransferManifest, files: Mapping[str, Path], progress: Progress
) -> TransferManifest:
    """Send the manifest, then the chunks that the other side asks for, until it has verified all.

    Returns what was sent: the manifest without the parts that the other side has.

    Raises:
        ConnectionLost: The connection broke, or an unexpected message came.
    """
    _describe(line, manifest)
    whole = manifest
    while True:
        answer = line.receive_json("done", "from", "again")
        manifest = whole.without({str(name) for name in answer.get("skip", [])})
        if answer["done"]:
            return manifest
        if answer.get("wait"):
            continue  # it is still verifying
        first, again = int(answer["from"]), [int(number) for number in answer["again"]]
        chunks = [(number, *manifest.place(number)) for number in again] if again else manifest.chunks(first)
        done, total = manifest.bytes_before(manifest.count if again else first), manifest.sent_bytes
        for number, file, at in chunks:
            line.send(number.to_bytes(NUMBER_BYTES, "big") + _read(files[file.name], file, at))
            done += 0 if again else file.length(at)
            progress(done, total)


def _describe(line: EncryptedChannel, manifest: TransferManifest) -> None:
    line.send_json(
        names=[file.name for file in manifest.files],
        sizes=[file.size for file in manifest.files],
        whole=manifest.whole,
        listed=sum(len(file.digests.joined) for file in manifest.files),
        parts=[[part.name, part.start, part.size] for part in manifest.parts[:MOST_PARTS]],
    )
    held = bytearray()
    for digests in (file.digests.joined for file in manifest.files):
        for start in range(0, len(digests), PIECE):
            held += digests[start : start + PIECE]
            if len(held) >= PIECE:
                line.send(bytes(held[:PIECE]))
                del held[:PIECE]
    if held:
        line.send(bytes(held))


def _read(path: Path, file: FileManifest, at: int) -> bytes:
    with path.open("rb", buffering=0) as opened:
        return os.pread(opened.fileno(), file.length(at), at * CHUNK)


def receive_manifest(line: EncryptedChannel, names: tuple[str, ...]) -> TransferManifest:
    """Receive the manifest.

    Raises:
        ConnectionLost: The connection broke, or an unexpected message came.
        BadManifest: It does not describe the expected files.
    """
    message = line.receive_json("names", "sizes", "whole", "listed")
    if tuple(message["names"]) != names:
        raise BadManifest("the other host sends other files than were asked for")
    listed, digests = int(message["listed"]), bytearray()
    if listed > LONGEST_LIST:
        raise BadManifest("the other host sends more than any instance has")
    while len(digests) < listed:
        digests += line.receive()
    sizes = [int(size) for size in message["sizes"]]
    return build_manifest(names, sizes, digests, str(message["whole"]), _parts(message.get("parts", [])))


def _parts(ranges: Any) -> list[ContentRange]:
    try:
        return [ContentRange(str(name), int(start), int(size)) for name, start, size in ranges[:MOST_PARTS]]
    except (KeyError, TypeError, ValueError) as error:
        raise BadManifest("the other host says what nobody understands of the parts of its file") from error


@dataclass
class ReceiveDirectory:
    """Folder where files arrive, with a record of the progress for a later connection to resume from."""

    folder: Path
    make: Callable[[Path, int], None]  # makes an empty file of this size; raises if the host has no room

    def path(self, name: str) -> Path:
        return self.folder / name

    @property
    def _progress_path(self) -> Path:
        return self.folder / "note.json"

    def first_missing(self, manifest: TransferManifest) -> int:
        """Return the next chunk to ask for; 0, with fresh files, for a new or changed manifest."""
        known = self._known()
        there = all(
            self.path(file.name).exists() and self.path(file.name).stat().st_size == file.size for file in manifest.files
        )
        if known.get("whole") == manifest.whole and there:
            return int(known["next"])
        for file in manifest.files:
            self.path(file.name).unlink(missing_ok=True)
            self.make(self.path(file.name), file.size)
        self.record_progress(manifest, 0)
        return 0

    def record_progress(self, manifest: TransferManifest, following: int) -> None:
        """Sync the files and record that all chunks before `following` are on the disk."""
        for file in manifest.files:
            _sync(self.path(file.name))
        spare = self._progress_path.with_suffix(".new")
        spare.write_text(json.dumps({"whole": manifest.whole, "next": following}))
        spare.replace(self._progress_path)

    def write(self, file: FileManifest, at: int, chunk: bytes) -> None:
        with self.path(file.name).open("r+b", buffering=0) as opened:
            os.pwrite(opened.fileno(), chunk, at * CHUNK)

    def faulty(self, manifest: TransferManifest, report_progress: Progress) -> list[int]:
        """Read everything again and return the chunks that differ from the manifest."""
        found, start = [], 0
        for file in manifest.files:
            seen = hash_file(file.name, self.path(file.name), report_progress)
            pairs = zip(seen.digests, file.digests, strict=True)
            found += [start + at for at, (got, wanted) in enumerate(pairs) if got != wanted]
            start += len(file.digests)
        return found

    def _known(self) -> dict[str, Any]:
        try:
            known = json.loads(self._progress_path.read_text())
        except (FileNotFoundError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}


def receive_files(
    line: EncryptedChannel,
    manifest: TransferManifest,
    inbox: ReceiveDirectory,
    progress: Progress,
    arrived: Callable[[int], None],
) -> None:
    """Ask for missing chunks until all files are verified.

    `arrived` is called with the first chunk that was asked for, before the source is told that it may go: that will
    not be repeated, so whatever is to be remembered must be on the disk by then.

    Raises:
        ConnectionLost: The connection broke, or an unexpected message came.
        BadManifest: The files still differ after several attempts.
    """
    first = inbox.first_missing(manifest)
    answer = {"skip": sorted(manifest.skipped), "done": False}
    line.send_json(**answer | {"from": first, "again": []})
    _receive_chunks(line, manifest, inbox, first, progress)
    for _round in range(ROUNDS):
        wrong = inbox.faulty(manifest, _KeepAlive(line, manifest, progress))
        if not wrong:
            arrived(first)
            line.send_json(**answer | {"done": True, "from": manifest.count, "again": []})
            return
        line.send_json(**answer | {"from": manifest.count, "again": wrong})
        for number, chunk in _arriving(line, manifest, wrong):
            inbox.write(*manifest.place(number), chunk)
        inbox.record_progress(manifest, manifest.count)
    inbox.record_progress(manifest, 0)
    raise BadManifest("the copy is not as its original")


class _KeepAlive:
    """Sends the source a sign of life at intervals while the target verifies the files."""

    def __init__(self, line: EncryptedChannel, manifest: TransferManifest, progress: Progress) -> None:
        self._line, self._manifest, self._progress = line, manifest, progress
        self._last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        self._progress(self._manifest.sent_bytes, self._manifest.sent_bytes)
        if time.monotonic() - self._last > PULSE:
            self._last = time.monotonic()
            self._line.send_json(done=False, wait=True, **{"from": self._manifest.count}, again=[])


def _receive_chunks(
    line: EncryptedChannel, manifest: TransferManifest, inbox: ReceiveDirectory, first: int, progress: Progress
) -> None:
    done, total = manifest.bytes_before(first), manifest.sent_bytes
    numbers = (number for number, _file_manifest, _at in manifest.chunks(first))
    for count, (number, chunk) in enumerate(_arriving(line, manifest, numbers), 1):
        inbox.write(*manifest.place(number), chunk)
        done += len(chunk)
        if count % KEEP_EVERY == 0:
            inbox.record_progress(manifest, number + 1)
        progress(done, total)
    inbox.record_progress(manifest, manifest.count)


def _arriving(line: EncryptedChannel, manifest: TransferManifest, numbers: Iterable[int]) -> Iterator[tuple[int, bytes]]:
    """Yield the chunks in this order, each verified by its digest.

    Raises:
        ConnectionLost: A chunk differs from its digest, or is not the expected one.
    """
    for number in numbers:
        message = line.receive()
        file, at = manifest.place(number)
        chunk = message[NUMBER_BYTES:]
        if int.from_bytes(message[:NUMBER_BYTES], "big") != number or not file.is_sound(at, chunk):
            raise ConnectionLost("a chunk did not arrive as it was sent")
        yield number, chunk


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
