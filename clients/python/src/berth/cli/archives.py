"""Folders as archives: packed here, and unpacked without trusting who packed them."""

import os
import shutil
import tarfile
from io import BufferedIOBase
from pathlib import Path, PurePosixPath
from typing import Final

from berth.cli.framework import session

_PIECE: Final = 256 * 1024


def size_of(folder: Path) -> int:
    """Return how many bytes the files of a folder have, as far as they can be read."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def pack(source: Path, writer: int, failed: list[Exception]) -> None:
    """Write a folder's contents to a pipe; what went wrong is added to `failed`."""
    try:
        with os.fdopen(writer, "wb") as file, tarfile.open(fileobj=file, mode="w|") as tar:
            for path in sorted(source.iterdir()):
                tar.add(path, arcname=path.name)
    except (OSError, tarfile.TarError) as error:
        failed.append(error)


def unpack_all(archive: BufferedIOBase, target: Path) -> list[tuple[Path, str]]:
    """Unpack an archive and read its stream to the end, where a sender that failed breaks it off; return its links."""
    with tarfile.open(fileobj=archive, mode="r|") as tar:
        links = [found for entry in tar if (found := _unpack(tar, entry, target)) is not None]
    while archive.read(_PIECE):
        pass
    return links


def _unpack(tar: tarfile.TarFile, entry: tarfile.TarInfo, target: Path) -> tuple[Path, str] | None:
    """Unpack one entry without the name of the folder that was packed; return a symbolic link for `link`.

    The archive comes from a host, which nobody vouches for. Python's own filter is not used: versions before 3.11.13,
    3.12.11 and 3.13.4 can be led out of the folder (CVE-2025-4517), and Debian 12 has none.
    """
    inner = PurePosixPath(entry.name).parts[1:]
    if not inner:
        return None
    place, to = target.joinpath(*inner), PurePosixPath(entry.linkname)
    way = [target.joinpath(*inner[: depth + 1]) for depth in range(len(inner))]
    within = ".." not in inner and not any(path.is_symlink() for path in way)
    if within and entry.issym() and not to.is_absolute() and ".." not in to.parts:
        return place, entry.linkname
    if not within or not (entry.isreg() or entry.isdir()):
        name = PurePosixPath(*inner)
        session().out.note(f"Left out {name}: it is or passes a link, or is neither file nor folder.")
        return None
    (place if entry.isdir() else place.parent).mkdir(parents=True, exist_ok=True)
    packed = tar.extractfile(entry) if entry.isreg() else None
    if packed is not None:
        with place.open("wb") as file:
            shutil.copyfileobj(packed, file)
        place.chmod(entry.mode & 0o755 | 0o600)
    return None


def link(place: Path, to: str) -> None:
    """Make a symbolic link that leads to its own folder or below it, once nothing is written any more."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if not os.path.lexists(place):
        place.symlink_to(to)
