"""Cleanup of what a killed agent left half-made, where no continued work would find it.

Orders that are still named start again, and use or replace what they had. After an order was withdrawn, nothing
else would look for its files.
"""

import logging
import shutil
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from agents.daemon.disks.operation_runner import Cleanup
from agents.daemon.engine.interface import EngineRefused, EngineSilent

logger = logging.getLogger(__name__)

_TRANSFER_FOLDERS: Final = ("moves", "volumes/moves")  # folders, each named by its target and its order
_DISKS: Final = ("disks", "volumes/disks", "snapshots", "systems")
_INCOMPLETE_SUFFIXES: Final = (".new", ".card")  # suffixes of incomplete files


def delete_incomplete_files(state: Path) -> None:
    """Delete incomplete copies, before any work of this agent starts: they are copied again anyway."""
    for place in _DISKS:
        for path in (state / place).glob("*"):
            if path.suffix in _INCOMPLETE_SUFFIXES or _is_lone_card(path):
                path.unlink(missing_ok=True)
    for path in (state / "access").glob("*/.*"):  # a key or a password's hash that was being written for the container
        path.unlink(missing_ok=True)


def _is_lone_card(path: Path) -> bool:
    """Return whether this describes a snapshot that was never completed."""
    return path.suffix == ".json" and not path.with_suffix(".ext4").exists()


class TransferCleanup:
    """Cleanup of transfers between hosts. `forget` removes what an order packed in the engine."""

    def __init__(self, state: Path, forget: Callable[[str], None]) -> None:
        self._state = state
        self._forget = forget
        self._born = time.time()

    def tidy(self, named: Collection[str]) -> None:
        """Delete folders of unnamed orders that are older than this agent, alongside its work."""
        for place in _TRANSFER_FOLDERS:
            for folder in (self._state / place).glob("*-*"):
                order = folder.name.partition("-")[2]
                if order not in named and self._is_old(folder):
                    self._delete(folder, order)

    def _delete(self, folder: Path, order: str) -> None:
        logger.info("what is left of the order %s goes", order)
        try:
            self._forget(order)
        except (EngineRefused, EngineSilent) as error:
            logger.warning("the engine keeps what the order %s packed: %s", order, error)
        shutil.rmtree(folder, ignore_errors=True)

    def _is_old(self, folder: Path) -> bool:
        try:
            return folder.stat().st_mtime < self._born
        except FileNotFoundError:
            return False


def chain_cleanups(first: Cleanup, second: Cleanup) -> Cleanup:
    def tidy(named: Collection[str]) -> None:
        first(named)
        second(named)

    return tidy
