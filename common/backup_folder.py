"""Backup as a folder: complete or absent, readable only by its owner, every file with a checksum."""

import errno
import hashlib
import json
import os
import shutil
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Final

FORMAT: Final = 1
SUM: Final = "sum"  # checksum of the manifest's own content; backups of former versions have none
MANIFEST: Final = "manifest.json"
_DRAFT: Final = ".{}.partial"
_LEFT_AFTER_S: Final = 24 * 3600
_CHUNK: Final = 1024 * 1024
_UNPACKING: Final = ".berth-unpacking"
_LISTS: Final = ("migrations", "missing")


class BadBackup(Exception):
    """Raised when the folder is no backup, is damaged, or comes from a newer version; the text says which."""


class NoBackup(Exception):
    """Raised when no backup could be made; nothing of it is left, and the text says what to do."""


@dataclass(frozen=True)
class Manifest:
    """Description of a backup.

    `files` has the size and SHA-256 of each file by name; `settings` contains no secret.
    """

    made_at: str
    server: int
    currency: str
    epoch: int
    seal: int
    seal_head: str
    migrations: list[str]
    settings: dict[str, str]
    missing: list[str]  # belongs to the market and is not in the folder
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    format: int = FORMAT


@contextmanager
def new_folder(parent: Path, name: str) -> Iterator[Path]:
    """Provide a folder that gets its name when everything is written, and is deleted on failure.

    What a killed backup has left is deleted by the next one, a day later: it may contain a whole database.

    Raises:
        NoBackup: the folder cannot be created.
    """
    _make_parent(parent)
    for left in parent.glob(_DRAFT.format("*")):
        if time.time() - left.stat().st_mtime > _LEFT_AFTER_S:
            shutil.rmtree(left, ignore_errors=True)
    draft = _new_draft(parent, name)
    try:
        yield draft
        for path in [*draft.rglob("*"), draft]:
            _sync(path)
        draft.rename(parent / name)
        _sync(parent)
    except BaseException as error:
        shutil.rmtree(draft, ignore_errors=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NoBackup(f"{parent} is full: free some room, or name another folder.") from error
        if isinstance(error, OSError) and error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise _is_taken(parent / name) from error
        raise


def _make_parent(parent: Path) -> None:
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise NoBackup(f"{error.filename} is no folder: name one for backups.") from error


def _new_draft(parent: Path, name: str) -> Path:
    draft = parent / _DRAFT.format(name)
    if (parent / name).exists():
        raise _is_taken(parent / name)
    try:
        draft.mkdir(mode=0o700)
    except FileExistsError as error:
        raise _is_taken(parent / name) from error
    return draft


def _is_taken(path: Path) -> NoBackup:
    return NoBackup(f"{path} is there already, or another backup makes it just now: try again in a second.")


def write_private(path: Path, content: bytes) -> None:
    """Write a new file that nobody else may read."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


def pack(source: Path, target: Path) -> None:
    """Write a folder to one tar file.

    Raises:
        OSError: a file cannot be read or written.
    """
    with (
        os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file,
        tarfile.open(fileobj=file, mode="w") as tar,
    ):
        tar.add(source, arcname=".")


def unpack(source: Path, target: Path) -> None:
    """Unpack files and folders into a folder that `takes_files`.

    Names that lead out of it, links and devices are refused before anything is written. Until `finish_unpacking`, a mark
    stays there, by which another run may overwrite what this one has left.

    Raises:
        OSError: a file cannot be read or written.
        tarfile.TarError: the file is damaged or contains something else.
    """
    with tarfile.open(source) as tar:
        members = tar.getmembers()
        for member in members:
            if not (member.isfile() or member.isdir()) or member.name.startswith("/") or ".." in member.name.split("/"):
                raise tarfile.ReadError(f"{member.name!r} does not belong into a backup")
        target.mkdir(parents=True, exist_ok=True)
        (target / _UNPACKING).touch()
        # Debian 12 has Python 3.11.2; filters came with 3.11.4.
        tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _target: member)
        tar.extractall(target)  # noqa: S202  (what it holds was looked at)


def finish_unpacking(target: Path) -> None:
    """Remove the mark: nothing in the folder may be overwritten from now on."""
    (target / _UNPACKING).unlink(missing_ok=True)


def takes_files(target: Path) -> bool:
    """Return whether the folder is empty, except for what an interrupted unpacking has left."""
    return not target.is_dir() or not any(target.iterdir()) or (target / _UNPACKING).exists()


def write_manifest(folder: Path, manifest: Manifest) -> None:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = {path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": _digest(path)} for path in paths}
    content = {**asdict(manifest), "files": sums}
    content[SUM] = _sum_of(content)
    write_private(folder / MANIFEST, (json.dumps(content, indent=2, sort_keys=True) + "\n").encode())


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a complete backup, after verifying that every file is as it was written.

    Raises:
        BadBackup: the backup is not complete.
    """
    try:
        content = json.loads((folder / MANIFEST).read_bytes())
    except FileNotFoundError as error:
        raise BadBackup(f"{folder} is no backup: it has no {MANIFEST}.") from error
    except (OSError, ValueError) as error:
        raise BadBackup(f"{folder / MANIFEST} cannot be read: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("format"), int):
        raise BadBackup(f"{folder / MANIFEST} is damaged.")
    if content["format"] > FORMAT:
        raise BadBackup(f"The backup has format {content['format']}; this version of Berth reads {FORMAT}. Use a newer one.")
    try:
        manifest = Manifest(**{item.name: content[item.name] for item in fields(Manifest)})
    except KeyError as error:
        raise BadBackup(f"{folder / MANIFEST} is damaged: it lacks {error}.") from error
    if (SUM in content and content[SUM] != _sum_of(content)) or not _is_whole(manifest):
        raise BadBackup(f"{folder / MANIFEST} is damaged: it is not as it was written.")
    for name, recorded in manifest.files.items():
        _check(folder / name, recorded)
    return manifest


def _sum_of(content: dict[str, Any]) -> str:
    recorded = {name: value for name, value in content.items() if name != SUM}
    return hashlib.sha256(json.dumps(recorded, sort_keys=True).encode()).hexdigest()


def _is_whole(manifest: Manifest) -> bool:
    """Return whether each field has its expected form: a manifest has no checksum and may be damaged too."""
    try:
        datetime.fromisoformat(manifest.made_at)
    except (TypeError, ValueError):
        return False
    lists = [getattr(manifest, name) for name in _LISTS]
    lists_hold = all(isinstance(each, list) and all(isinstance(item, str) for item in each) for each in lists)
    files = manifest.files
    return lists_hold and isinstance(files, dict) and all(isinstance(each, dict) for each in files.values())


def _check(path: Path, recorded: dict[str, Any]) -> None:
    if not path.is_file():
        raise BadBackup(f"The backup is damaged: {path.name} is missing.")
    if path.stat().st_size != recorded.get("bytes") or _digest(path) != recorded.get("sha256"):
        raise BadBackup(f"The backup is damaged: {path.name} is not as it was written.")


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
