"""Manifest of a transfer between two hosts: files in chunks, each with its SHA-256, and one checksum.

A chunk of zeros has no digest and is not sent, so unused room of a data disk costs nothing. Parts of the first file
that the other host already has (the layers of an image) are not sent either: they arrive as zeros.
"""

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Final

CHUNK: Final = 512 * 1024
DIGEST: Final = 32
HOLE: Final = bytes(DIGEST)  # stands for the digest of a chunk of zeros
_ZEROS: Final = bytes(CHUNK)
_AT_ONCE: Final = 4096  # chunks that are marked as zeros in one step

ProgressCallback = Callable[[int, int], None]  # called with the bytes read so far and their total; may raise to abort


class BadManifest(Exception):
    """The list of chunks does not match its checksum, or names an unexpected file."""


class Digests:
    """Digests in one byte string.

    A large disk has millions of digests: as objects they would not fit into an agent's memory, and the other host
    chooses how many it sends.
    """

    def __init__(self, joined: bytes | bytearray | memoryview) -> None:
        self.joined = memoryview(joined)

    def __len__(self) -> int:
        return len(self.joined) // DIGEST

    def __getitem__(self, at: int) -> bytes:
        return bytes(self.joined[at * DIGEST : (at + 1) * DIGEST])

    def __iter__(self) -> Iterator[bytes]:
        return (self[at] for at in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Digests) and self.joined == other.joined

    def __hash__(self) -> int:
        return hash(bytes(self.joined))


@dataclass(frozen=True)
class FileManifest:
    """One file: its name in the manifest, its size, and the digest of each chunk."""

    name: str
    size: int
    digests: Digests

    @cached_property
    def sent_bytes(self) -> int:
        """Return the bytes to be sent: all but chunks of zeros."""
        return sum(self.length(at) for at, digest in enumerate(self.digests) if digest != HOLE)

    def length(self, at: int) -> int:
        return min(CHUNK, self.size - at * CHUNK)

    def is_sound(self, at: int, chunk: bytes) -> bool:
        return len(chunk) == self.length(at) and digest_of(chunk) == self.digests[at]


@dataclass(frozen=True)
class ContentRange:
    """A range of bytes in the first file, with a name that stands for its content on any host."""

    name: str
    start: int
    size: int

    @property
    def chunks(self) -> range:
        """Return the chunks that lie completely in it."""
        return range(-(-self.start // CHUNK), (self.start + self.size) // CHUNK)


@dataclass(frozen=True)
class TransferManifest:
    """Files in order, with their chunks numbered consecutively; `skipped` names parts that are not sent."""

    files: tuple[FileManifest, ...]
    parts: tuple[ContentRange, ...] = ()
    skipped: frozenset[str] = frozenset()

    def without(self, names: Collection[str]) -> "TransferManifest":
        """Return the same manifest with the content of these parts replaced by zeros."""
        skipped = frozenset(part.name for part in self.parts if part.name in names)
        if not skipped:
            return self
        first, *others = self.files
        digests = bytearray(first.digests.joined)
        for chunks in (part.chunks for part in self.parts if part.name in skipped):
            for start in range(chunks.start, chunks.stop, _AT_ONCE):
                stop = min(chunks.stop, start + _AT_ONCE)
                digests[start * DIGEST : stop * DIGEST] = bytes((stop - start) * DIGEST)
        return replace(self, files=(replace(first, digests=Digests(digests)), *others), skipped=skipped)

    @cached_property
    def whole(self) -> str:
        """Return the checksum over all names, sizes and digests."""
        state = hashlib.sha256(json.dumps([[file.name, file.size] for file in self.files]).encode())
        for file in self.files:
            state.update(file.digests.joined)
        return state.hexdigest()

    @property
    def count(self) -> int:
        return sum(len(file.digests) for file in self.files)

    @cached_property
    def sent_bytes(self) -> int:
        return sum(file.sent_bytes for file in self.files)

    def chunks(self, first: int = 0) -> Iterator[tuple[int, FileManifest, int]]:
        """Yield (number, file, number in the file) for every chunk to be sent, from `first` on."""
        starts = [0, *accumulate(len(file.digests) for file in self.files)]
        for start, file in zip(starts, self.files, strict=False):
            for at in range(max(0, first - start), len(file.digests)):
                if file.digests[at] != HOLE:
                    yield start + at, file, at

    def bytes_before(self, first: int) -> int:
        return self.sent_bytes - sum(file.length(at) for _number, file, at in self.chunks(first))

    def place(self, number: int) -> tuple[FileManifest, int]:
        """Return the file of a chunk, and the chunk's number in it.

        Raises:
            BadManifest: There is no such chunk.
        """
        for file in self.files:
            if 0 <= number < len(file.digests):
                return file, number
            number -= len(file.digests)
        raise BadManifest(f"there is no such chunk: {number}")


def digest_of(chunk: bytes) -> bytes:
    return HOLE if chunk == _ZEROS[: len(chunk)] else hashlib.sha256(chunk).digest()


def hash_file(name: str, path: Path, progress: ProgressCallback = lambda done, total: None) -> FileManifest:
    """Read a file completely, except for its holes, and return its digests."""
    size = path.stat().st_size
    with path.open("rb", buffering=0) as file:
        digests = bytearray()
        data_from, data_to = 0, 0
        for start in range(0, size, CHUNK):
            length = min(CHUNK, size - start)
            if start + length > data_to:
                data_from, data_to = _next_data(file.fileno(), start, size)
            in_hole = start + length <= data_from
            digests += HOLE if in_hole else digest_of(os.pread(file.fileno(), length, start))
            progress(start + length, size)
    return FileManifest(name, size, Digests(digests))


def _next_data(file: int, start: int, size: int) -> tuple[int, int]:
    """Return the range of data at or after `start`; (size, size) if only a hole follows."""
    try:
        data_from = os.lseek(file, start, os.SEEK_DATA)
        return data_from, os.lseek(file, data_from, os.SEEK_HOLE)
    except OSError:  # no data after `start`
        return size, size


def build_manifest(
    names: Sequence[str], sizes: Sequence[int], digests: bytes | bytearray, whole: str, parts: Sequence[ContentRange] = ()
) -> TransferManifest:
    """Build the manifest that another host has sent.

    Raises:
        BadManifest: Its checksum is wrong, or a part does not lie in its first file.
    """
    files, start = [], 0
    for name, size in zip(names, sizes, strict=True):
        end = start + DIGEST * -(-size // CHUNK)
        files.append(FileManifest(name, size, Digests(memoryview(digests)[start:end])))
        start = end
    manifest = TransferManifest(tuple(files), tuple(parts))
    if any(part.start < 0 or part.size < 0 or part.start + part.size > sizes[0] for part in parts):
        raise BadManifest("a part does not lie in its file")
    if start != len(digests) or manifest.whole != whole or any(size < 0 for size in sizes):
        raise BadManifest("the list of chunks does not match its checksum")
    return manifest
