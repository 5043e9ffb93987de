"""One backup as a folder: whole or not there, readable by its owner alone, every file under a checksum."""

import hashlib
import json
import os
import shutil
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
_DRAFT: Final = ".{}.partial"
_LEFT_AFTER_S: Final = 24 * 3600
_CHUNK: Final = 1024 * 1024


class BadBackup(Exception):
    """What is there is no backup, is damaged, or was made by a newer version; the text says which."""


@dataclass(frozen=True)
class Manifest:
    """What a backup says of itself. `files` has the size and SHA-256 of each, by its name; `settings` holds no secret."""

    made_at: str
    server: int
    currency: str
    epoch: int
    seal: int
    seal_head: str
    migrations: list[str]
    settings: dict[str, str]
    missing: list[str]  # what belongs to the market and is not in the folder
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    format: int = FORMAT


@contextmanager
def new_folder(parent: Path, name: str) -> Iterator[Path]:
    """A folder that gets its name when all has been written, and is gone when something fails.

    What a backup that was killed has left is taken away by the next one, a day later: it may hold a whole database.
    """
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob(_DRAFT.format("*")):
        if time.time() - left.stat().st_mtime > _LEFT_AFTER_S:
            shutil.rmtree(left, ignore_errors=True)
    draft = parent / _DRAFT.format(name)
    draft.mkdir(mode=0o700)
    try:
        yield draft
        for path in [*draft.rglob("*"), draft]:
            _sync(path)
        draft.rename(parent / name)
        _sync(parent)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def write_private(path: Path, content: bytes) -> None:
    """A new file that nobody else may read."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


def pack(source: Path, target: Path) -> None:
    """A folder as one tar file. Raises OSError."""
    with (
        os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file,
        tarfile.open(fileobj=file, mode="w") as tar,
    ):
        tar.add(source, arcname=".")


def unpack(source: Path, target: Path) -> None:
    """Into an empty folder or a new one; names that lead out of it are refused. Raises OSError and tarfile.TarError."""
    target.mkdir(parents=True, exist_ok=True)
    with tarfile.open(source) as tar:
        tar.extractall(target, filter="data")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = {path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": _digest(path)} for path in paths}
    content = {**asdict(manifest), "files": sums}
    write_private(folder / MANIFEST, (json.dumps(content, indent=2, sort_keys=True) + "\n").encode())


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a whole backup: every file is there, and as it was written. Raises BadBackup."""
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
    for name, told in manifest.files.items():
        _check(folder / name, told)
    return manifest


def _check(path: Path, told: dict[str, Any]) -> None:
    if not path.is_file():
        raise BadBackup(f"The backup is damaged: {path.name} is missing.")
    if path.stat().st_size != told["bytes"] or _digest(path) != told["sha256"]:
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
