"""Files that are there whole or not at all, whatever happens meanwhile."""

import os
from pathlib import Path


def write_whole(path: Path, content: bytes, *, spare: Path | None = None) -> None:
    """Root-only from its first moment. Until it is whole it has the name `spare`, by default `<name>.new`."""
    spare = spare or path.with_suffix(".new")
    spare.unlink(missing_ok=True)
    with os.fdopen(os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    spare.replace(path)


def sync_folder(path: Path) -> None:
    """What was renamed in the folder stays so after a power cut."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
