"""Images as the files that an engine writes out and takes in: whose they are, which layers they have, what they unpack to.

A chain id names a layer together with all below it: `sha256(chain id below + " " + digest of the layer)`, as the OCI image
specification has it. An engine that has a chain id does not read that layer of an archive.
"""

import hashlib
import json
import tarfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Final

from agents.daemon.docker_spec import INSTANCE_LABEL
from agents.daemon.jobs import Failed
from agents.daemon.parcels import Part

TOO_LARGE: Final = "What arrives is larger than an image and a system disk can be."
_NO_IMAGE: Final = "What arrived is no image."
_ALGORITHM: Final = "sha256:"
_GZIP: Final = 16 + zlib.MAX_WBITS  # with its head and its checksum
_GZIP_MAGIC: Final = b"\x1f\x8b"
_COMPRESSED: Final = (b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh")  # zstd, xz, bzip2
_LONGEST_MAGIC: Final = 6
_PIECE: Final = 1024 * 1024
_LARGEST_LIST: Final = 4 * 1024 * 1024  # of an image's layers and of its configuration


def chains_of(digests: Iterable[str]) -> list[str]:
    """The chain ids of an image's layers, lowest first, from the digests of what each unpacks to."""
    chains: list[str] = []
    for digest in digests:
        chains.append(_ALGORITHM + hashlib.sha256(f"{chains[-1]} {digest}".encode()).hexdigest() if chains else digest)
    return chains


def parts_of(path: Path) -> tuple[Part, ...]:
    """Where each layer of an image lies in its file. None for a file that is not understood: it is sent whole."""
    try:
        with tarfile.open(path) as archive:
            layers = [(chain, archive.getmember(name)) for chain, _digest, name in _layers(archive)]
    except (Failed, tarfile.TarError, AttributeError, KeyError, TypeError, ValueError):
        return ()
    return tuple(Part(chain, member.offset_data, member.size) for chain, member in layers if member.isreg())


def check_archive(path: Path, target: str, most: int, held: Collection[str]) -> int:
    """Bytes of the layers as they are unpacked, of one image without a name, made from the instance `target`.

    An archive may hold many images, and rename what is there. Layers may be compressed, by a hostile host to any factor. And
    an image may name a layer that it did not bring, of somebody else here: each is either `held` for this instance, by its
    chain id, or has the content that the image says. Raises Failed, also for more than `most` bytes.
    """
    try:
        with tarfile.open(path) as archive:
            images = _read_json(archive, "manifest.json")
            if len(images) != 1 or images[0].get("RepoTags"):
                raise Failed("bad_parcel", "What arrived is not one unnamed image.")
            if "repositories" in archive.getnames():
                raise Failed("bad_parcel", "What arrived names images.")
            labels = _read_json(archive, str(images[0]["Config"]))["config"]["Labels"] or {}
            if labels.get(INSTANCE_LABEL) != target:
                raise Failed("bad_parcel", "What arrived is not the root of this instance.")
            size = 0
            for chain, digest, name in _layers(archive):
                came, found = _measure(archive, name, most - size, hashed=chain not in held)
                size += came
                if found and found != digest:
                    raise Failed("bad_parcel", "A layer of what arrived is not what its image says.")
            return size
    except (tarfile.TarError, zlib.error, AttributeError, KeyError, TypeError, ValueError) as error:
        raise Failed("bad_parcel", _NO_IMAGE) from error


def _layers(archive: tarfile.TarFile) -> Iterator[tuple[str, str, str]]:
    """(chain id, digest, name in the archive) of each layer of the only image. Raises ValueError when they do not match."""
    [image] = _read_json(archive, "manifest.json")
    digests = [str(digest) for digest in _read_json(archive, str(image["Config"]))["rootfs"]["diff_ids"]]
    yield from zip(chains_of(digests), digests, [str(name) for name in image["Layers"]], strict=True)


def _measure(archive: tarfile.TarFile, name: str, most: int, *, hashed: bool) -> tuple[int, str]:
    """Bytes of one layer as it is unpacked, and its digest if that is asked for.

    Raises Failed when there are more than `most`, or when it is compressed in a way that nobody here reads.
    """
    file = archive.extractfile(archive.getmember(name))
    if file is None:
        raise Failed("bad_parcel", _NO_IMAGE)
    head = file.read(_LONGEST_MAGIC)
    file.seek(0)
    if head.startswith(_COMPRESSED):
        raise Failed("bad_parcel", "What arrived is compressed in a way that this host does not read.")
    size, digest = 0, hashlib.sha256()
    for piece in _gunzipped(file) if head.startswith(_GZIP_MAGIC) else iter(lambda: file.read(_PIECE), b""):
        size += len(piece)
        if size > most:
            raise Failed("system_disk_full", TOO_LARGE)
        if hashed:
            digest.update(piece)
    return size, _ALGORITHM + digest.hexdigest() if hashed else ""


def _gunzipped(file: IO[bytes]) -> Iterator[bytes]:
    unpack = zlib.decompressobj(_GZIP)
    piece = file.read(_PIECE)
    while piece:
        yield unpack.decompress(piece, _PIECE)
        piece = unpack.unconsumed_tail
        if unpack.eof:  # a file may hold several streams, one behind the other
            piece, unpack = unpack.unused_data, zlib.decompressobj(_GZIP)
        piece = piece or file.read(_PIECE)


def _read_json(archive: tarfile.TarFile, name: str) -> Any:
    member = archive.getmember(name)
    file = archive.extractfile(member)
    if file is None or member.size > _LARGEST_LIST:
        raise Failed("bad_parcel", _NO_IMAGE)
    return json.loads(file.read())
