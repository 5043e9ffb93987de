"""Atomic writes of files."""

import os
from pathlib import Path


def write_atomically(path: Path, content: bytes, *, spare: Path | None = None) -> None:
    """Write a file atomically, readable by its owner alone from the first moment.

    Until it is complete it is named `spare`, by default `<name>.new`.
    """
    spare = spare or path.with_suffix(".new")
    spare.unlink(missing_ok=True)
    with os.fdopen(os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    spare.replace(path)


def sync_folder(path: Path) -> None:
    """Sync a folder, so that renames in it survive a power cut."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
