"""Images as the files that an engine writes out and takes in: whose they are, which layers they have, what they unpack to.

A chain id names a layer together with all below it: `sha256(chain id below + " " + digest of the layer)`, as the OCI image
specification has it. An engine that has a chain id does not read that layer of an archive.
"""

import hashlib
import io
import json
import tarfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from agents.daemon.docker_engine.container_spec import INSTANCE_LABEL
from agents.daemon.lib.chunk_manifest import Part
from agents.daemon.lib.errors import Failed

TOO_LARGE: Final = "What arrives is larger than an image and a system disk can be."
_NO_IMAGE: Final = "What arrived is no image."
_ALGORITHM: Final = "sha256:"
_GZIP: Final = 16 + zlib.MAX_WBITS  # with its head and its checksum
_GZIP_MAGIC: Final = b"\x1f\x8b"
_COMPRESSED: Final = (b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh")  # zstd, xz, bzip2
_LONGEST_MAGIC: Final = 6
_SKIPPED_BY_ZSTD: Final = b"\x2a\x4d\x18"  # behind a byte 0x50 to 0x5f: a frame that may come before one of zstd
_PIECE: Final = 1024 * 1024
_LARGEST_LIST: Final = 4 * 1024 * 1024  # of an image's layers and of its configuration
_LARGEST_READ: Final = 2 * _LARGEST_LIST
_MOST_FILES: Final = 10_000


@dataclass(frozen=True)
class CheckedRoot:
    """What is taken of an archive: the image's configuration, the digests of its layers, and of each
    its name there and its bytes unpacked."""

    config: bytes
    digests: tuple[str, ...]
    layers: tuple[tuple[str, int], ...]

    @property
    def size(self) -> int:
        return sum(size for _name, size in self.layers)


def chains_of(digests: Iterable[str]) -> list[str]:
    """The chain ids of an image's layers, lowest first, from the digests of what each unpacks to."""
    chains: list[str] = []
    for digest in digests:
        chains.append(_ALGORITHM + hashlib.sha256(f"{chains[-1]} {digest}".encode()).hexdigest() if chains else digest)
    return chains


def parts_of(path: Path) -> tuple[Part, ...]:
    """Where each layer of an image lies in its file. None for a file that is not understood: it is sent whole."""
    try:
        with _opened(path) as archive:
            layers = [(chain, archive.getmember(name)) for chain, _digest, name in _layers(archive)]
    except (Failed, tarfile.TarError, AttributeError, KeyError, TypeError, ValueError):
        return ()
    return tuple(Part(chain, member.offset_data, member.size) for chain, member in layers if member.isreg())


def check_archive(path: Path, target: str, most: int, held: Collection[str]) -> CheckedRoot:
    """What the engine may have of one image without a name, made from the instance `target`.

    An archive may hold many images, and rename what is there. Layers may be compressed, by a hostile host to any factor. And
    an image may name a layer that it did not bring, of somebody else here: each is either `held` for this instance, by its
    chain id, or has the content that the image says. Raises Failed, also for more than `most` bytes.
    """
    try:
        with _opened(path) as archive:
            images = json.loads(_read_list(archive, "manifest.json"))
            if len(images) != 1 or images[0].get("RepoTags"):
                raise Failed("bad_parcel", "What arrived is not one unnamed image.")
            config = _read_list(archive, str(images[0]["Config"]))
            labels = json.loads(config)["config"]["Labels"] or {}
            if labels.get(INSTANCE_LABEL) != target:
                raise Failed("bad_parcel", "What arrived is not the root of this instance.")
            layers: list[tuple[str, int]] = []
            digests: list[str] = []
            for chain, digest, name in _layers(archive):
                came, found = _measure(archive, name, most, hashed=chain not in held)
                if found and found != digest:
                    raise Failed("bad_parcel", "A layer of what arrived is not what its image says.")
                layers.append((name, came))
                digests.append(digest)
                most -= came
            return CheckedRoot(config, tuple(digests), tuple(layers))
    except (tarfile.TarError, zlib.error, RecursionError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise Failed("bad_parcel", _NO_IMAGE) from error


def packed_anew(path: Path, root: CheckedRoot) -> Iterator[bytes]:
    """An archive of what was checked and of nothing else, for the engine to read.

    The engine reads an archive in its own way: it unpacks one that is compressed, takes "./manifest.json" for the manifest,
    believes an index beside it, and writes every file to its disk. So it never sees one that another host has made.
    """
    names = [f"{number}/layer.tar" for number in range(len(root.layers))]
    manifest = json.dumps([{"Config": "config.json", "RepoTags": None, "Layers": names}]).encode()
    for name, content in (("config.json", root.config), ("manifest.json", manifest)):
        yield from _as_member(name, len(content), iter((content,)))
    with _opened(path) as archive:
        for name, (source, size) in zip(names, root.layers, strict=True):
            yield from _as_member(name, size, _unpacked(archive, source))
    yield bytes(2 * tarfile.BLOCKSIZE)


def _as_member(name: str, size: int, pieces: Iterator[bytes]) -> Iterator[bytes]:
    head = tarfile.TarInfo(name)
    head.size = size
    yield head.tobuf(tarfile.GNU_FORMAT)
    yield from (piece for piece in pieces if piece)
    yield bytes(-size % tarfile.BLOCKSIZE)


class _Bounded(io.FileIO):
    """A file of which nobody reads as much at once as its own headers ask for."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= _LARGEST_READ:
            raise tarfile.ReadError("a header asks for more than one can hold")
        return super().read(size)


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    """Raises Failed for more files than an image has, TarError for an archive that is compressed as a whole."""
    with _Bounded(path) as file, tarfile.open(fileobj=file, mode="r:") as archive:
        for number, _member in enumerate(archive):
            if number == _MOST_FILES:
                raise Failed("bad_parcel", _NO_IMAGE)
        yield archive


def _layers(archive: tarfile.TarFile) -> Iterator[tuple[str, str, str]]:
    """(chain id, digest, name in the archive) of each layer of the only image. Raises ValueError when they do not match."""
    [image] = json.loads(_read_list(archive, "manifest.json"))
    config = json.loads(_read_list(archive, str(image["Config"])))
    digests = [str(digest) for digest in config["rootfs"]["diff_ids"]]
    yield from zip(chains_of(digests), digests, [str(name) for name in image["Layers"]], strict=True)


def _measure(archive: tarfile.TarFile, name: str, most: int, *, hashed: bool) -> tuple[int, str]:
    """Bytes of one layer as it is unpacked, and its digest if that is asked for.

    Raises Failed when there are more than `most`, or when it is compressed in a way that nobody here reads.
    """
    head, size, digest = b"", 0, hashlib.sha256()
    for piece in _unpacked(archive, name):
        head = head or piece[:_LONGEST_MAGIC]
        if _is_compressed(head):
            raise Failed("bad_parcel", "What arrived is compressed in a way that this host does not read.")
        size += len(piece)
        if size > most:
            raise Failed("system_disk_full", TOO_LARGE)
        if hashed:
            digest.update(piece)
    return size, _ALGORITHM + digest.hexdigest() if hashed else ""


def _is_compressed(head: bytes) -> bool:
    """Whether an engine would unpack what begins with this, once more if it was unpacked here."""
    return head.startswith((*_COMPRESSED, _GZIP_MAGIC)) or (
        head[1:4] == _SKIPPED_BY_ZSTD and 0x50 <= head[0] <= 0x5F  # noqa: PLR2004
    )


def _unpacked(archive: tarfile.TarFile, name: str) -> Iterator[bytes]:
    """A layer, in pieces of at least as many bytes as tell whether it is compressed, as far as it has them."""
    file = archive.extractfile(archive.getmember(name))
    if file is None:
        raise Failed("bad_parcel", _NO_IMAGE)
    is_gzip = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    file.seek(0)
    pieces, kept = _gunzipped(file) if is_gzip else iter(lambda: file.read(_PIECE), b""), b""
    for piece in pieces:
        kept += piece
        if len(kept) >= _LONGEST_MAGIC:
            yield kept
            kept = b""
    yield kept


def _gunzipped(file: IO[bytes]) -> Iterator[bytes]:
    unpack = zlib.decompressobj(_GZIP)
    piece = file.read(_PIECE)
    while piece:
        yield unpack.decompress(piece, _PIECE)
        piece = unpack.unconsumed_tail
        if unpack.eof:  # a file may hold several streams, one behind the other
            piece, unpack = unpack.unused_data, zlib.decompressobj(_GZIP)
        piece = piece or file.read(_PIECE)


def _read_list(archive: tarfile.TarFile, name: str) -> bytes:
    """What a link leads to may be larger than itself."""
    file = archive.extractfile(archive.getmember(name))
    content = b"" if file is None else file.read(_LARGEST_LIST + 1)
    if file is None or len(content) > _LARGEST_LIST:
        raise Failed("bad_parcel", _NO_IMAGE)
    return content
