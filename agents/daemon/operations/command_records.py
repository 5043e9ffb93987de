"""Records of commands on disk, so that a command is never run twice and its result outlives the agent's restart."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from agents.daemon.lib.atomic_files import sync_folder, write_atomically

_BEGUN: Final = ".begun"
_ENDED: Final = ".ended"


class CommandRecords:
    """One file for each command that was begun, and one with its result once it has ended."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def begin(self, order: str, instance: str) -> None:
        """Note the command, for good, before it is started."""
        write_atomically(self._folder / f"{order}{_BEGUN}", instance.encode())
        sync_folder(self._folder)

    def end(self, order: str, outcome: Mapping[str, str]) -> None:
        write_atomically(self._folder / f"{order}{_ENDED}", json.dumps(dict(outcome)).encode())

    def is_begun(self, order: str) -> bool:
        return (self._folder / f"{order}{_BEGUN}").exists()

    def outcome(self, order: str) -> dict[str, str] | None:
        """Return the result; None if the command has not ended, or its result was lost with the machine's power."""
        try:
            found = json.loads((self._folder / f"{order}{_ENDED}").read_bytes())
        except (OSError, ValueError):
            return None
        return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else None

    def drop(self, order: str) -> None:
        """Remove all of a command; the result first, so that one without a result counts as begun."""
        for ending in (_ENDED, _BEGUN):
            (self._folder / f"{order}{ending}").unlink(missing_ok=True)

    def others(self, named: Collection[str]) -> list[tuple[str, str, bool]]:
        """Return (order, instance, whether it has ended) of the commands that are not named."""
        found = [path for path in self._folder.glob(f"*{_BEGUN}") if path.stem not in named]
        return [(path.stem, path.read_text(), path.with_suffix(_ENDED).exists()) for path in found]
