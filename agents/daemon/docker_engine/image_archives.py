"""Image archives of the engine: check of their content, their layers, and a safe repacking.

A chain id names a layer together with all below it: `sha256(chain id below + " " + digest of the layer)`, as the
OCI image specification defines it. An engine that has a chain id does not read that layer of an archive.
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
from agents.daemon.lib.chunk_manifest import ContentRange
from agents.daemon.lib.errors import Failed

TOO_LARGE: Final = "What arrives is larger than an image and a system disk can be."
_NO_IMAGE: Final = "What arrived is no image."
_ALGORITHM: Final = "sha256:"
_GZIP: Final = 16 + zlib.MAX_WBITS  # with the gzip header and checksum
_GZIP_MAGIC: Final = b"\x1f\x8b"
_COMPRESSED: Final = (b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh")  # zstd, xz, bzip2
_LONGEST_MAGIC: Final = 6
_SKIPPED_BY_ZSTD: Final = b"\x2a\x4d\x18"  # after a byte 0x50 to 0x5f: a skippable frame, which may precede one of zstd
_PIECE: Final = 1024 * 1024
_LARGEST_LIST: Final = 4 * 1024 * 1024  # bytes of the list of an image's layers, and of its configuration
_LARGEST_READ: Final = 2 * _LARGEST_LIST
_MOST_FILES: Final = 10_000


@dataclass(frozen=True)
class CheckedRoot:
    """Accepted parts of an archive.

    These are the image's configuration, the digests of its layers, and for each layer its name in the archive and
    its size unpacked.
    """

    config: bytes
    digests: tuple[str, ...]
    layers: tuple[tuple[str, int], ...]

    @property
    def size(self) -> int:
        return sum(size for _name, size in self.layers)


def chains_of(digests: Iterable[str]) -> list[str]:
    """Return the chain ids of an image's layers, lowest first, from the digests of the unpacked layers."""
    chains: list[str] = []
    for digest in digests:
        chains.append(_ALGORITHM + hashlib.sha256(f"{chains[-1]} {digest}".encode()).hexdigest() if chains else digest)
    return chains


def parts_of(path: Path) -> tuple[ContentRange, ...]:
    """Return where each layer of an image lies in its archive file.

    It is empty for a file that is not understood, which is then sent whole.
    """
    try:
        with _opened(path) as archive:
            layers = [(chain, archive.getmember(name)) for chain, _digest, name in _layers(archive)]
    except (Failed, tarfile.TarError, AttributeError, KeyError, TypeError, ValueError):
        return ()
    return tuple(ContentRange(chain, member.offset_data, member.size) for chain, member in layers if member.isreg())


def check_archive(path: Path, target: str, most: int, held: Collection[str]) -> CheckedRoot:
    """Return the parts that the engine may load of an archive with one unnamed image of instance `target`.

    An archive may hold many images, and rename existing ones. Layers may be compressed, by a hostile host to any
    factor. And an image may name a layer that it did not bring, which belongs to somebody else here. So each layer
    either is in `held`, by its chain id, for this instance, or has the content that the image declares.

    Raises:
        Failed: The archive breaks one of these rules, or unpacks to more than `most` bytes.
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
    """Yield an archive of the checked parts and of nothing else, for the engine to load.

    The engine reads archives leniently: it unpacks a compressed one, accepts "./manifest.json" as the manifest,
    trusts an index next to it, and writes every file to its disk. So it is never given an archive that another host
    has made.
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
    """File whose single reads are limited, since an archive's own headers may ask for any size."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= _LARGEST_READ:
            raise tarfile.ReadError("a header asks for more than one can hold")
        return super().read(size)


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    """Open an archive.

    Raises:
        Failed: It has more files than an image can have.
        TarError: It is compressed as a whole.
    """
    with _Bounded(path) as file, tarfile.open(fileobj=file, mode="r:") as archive:
        for number, _member in enumerate(archive):
            if number == _MOST_FILES:
                raise Failed("bad_parcel", _NO_IMAGE)
        yield archive


def _layers(archive: tarfile.TarFile) -> Iterator[tuple[str, str, str]]:
    """Yield (chain id, digest, name in the archive) for each layer of the only image.

    Raises:
        ValueError: The lists of the manifest and of the configuration have different lengths.
    """
    [image] = json.loads(_read_list(archive, "manifest.json"))
    config = json.loads(_read_list(archive, str(image["Config"])))
    digests = [str(digest) for digest in config["rootfs"]["diff_ids"]]
    yield from zip(chains_of(digests), digests, [str(name) for name in image["Layers"]], strict=True)


def _measure(archive: tarfile.TarFile, name: str, most: int, *, hashed: bool) -> tuple[int, str]:
    """Return the bytes of one unpacked layer, and its digest if `hashed`.

    Raises:
        Failed: It has more than `most` bytes, or is compressed in a way that is not supported here.
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
    """Return whether an engine would unpack data that starts with this, perhaps once more."""
    return head.startswith((*_COMPRESSED, _GZIP_MAGIC)) or (
        head[1:4] == _SKIPPED_BY_ZSTD and 0x50 <= head[0] <= 0x5F  # noqa: PLR2004
    )


def _unpacked(archive: tarfile.TarFile, name: str) -> Iterator[bytes]:
    """Yield an unpacked layer in pieces that are long enough to show whether it is compressed.

    Only the last piece may be shorter.
    """
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
        if unpack.eof:  # a file may hold several gzip streams in sequence
            piece, unpack = unpack.unused_data, zlib.decompressobj(_GZIP)
        piece = piece or file.read(_PIECE)


def _read_list(archive: tarfile.TarFile, name: str) -> bytes:
    """Read a JSON member of limited size; a link may lead to something larger than itself."""
    file = archive.extractfile(archive.getmember(name))
    content = b"" if file is None else file.read(_LARGEST_LIST + 1)
    if file is None or len(content) > _LARGEST_LIST:
        raise Failed("bad_parcel", _NO_IMAGE)
    return content
