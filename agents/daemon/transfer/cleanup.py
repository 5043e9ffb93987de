"""What a killed agent left half-made: taken away by the next one, where no work that goes on will find and replace it.

Work that is still named begins again and uses or replaces what it had; withdrawn meanwhile, nobody else would ever look.
"""

import logging
import shutil
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from agents.daemon.disks.operation_runner import Tidy
from agents.daemon.engine.interface import EngineRefused, EngineSilent

logger = logging.getLogger(__name__)

_TRIPS: Final = ("moves", "volumes/moves")  # folders, each named by its target and its order
_DISKS: Final = ("disks", "volumes/disks", "snapshots", "systems")
_SPARES: Final = (".new", ".card")  # names under which nothing is whole


def drop_spares(state: Path) -> None:
    """Before any work of this agent begins: every copy that was not finished starts over anyway."""
    for place in _DISKS:
        for path in (state / place).glob("*"):
            if path.suffix in _SPARES or _is_lone_card(path):
                path.unlink(missing_ok=True)
    for path in (state / "access").glob("*/.*"):  # a key or a password's hash on its way into the container
        path.unlink(missing_ok=True)


def _is_lone_card(path: Path) -> bool:
    """The description of a snapshot that never came to be."""
    return path.suffix == ".json" and not path.with_suffix(".ext4").exists()


class TransferCleanup:
    """Parcels between hosts that were under way. `forget` lets the engine go of what an order had packed in it."""

    def __init__(self, state: Path, forget: Callable[[str], None]) -> None:
        self._state = state
        self._forget = forget
        self._born = time.time()

    def tidy(self, named: Collection[str]) -> None:
        """Beside the work of this agent: what is younger than it is its own."""
        for place in _TRIPS:
            for folder in (self._state / place).glob("*-*"):
                order = folder.name.partition("-")[2]
                if order not in named and self._is_old(folder):
                    self._drop(folder, order)

    def _drop(self, folder: Path, order: str) -> None:
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


def both(first: Tidy, second: Tidy) -> Tidy:
    def tidy(named: Collection[str]) -> None:
        first(named)
        second(named)

    return tidy
