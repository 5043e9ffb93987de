"""Cache of pulled images; the least recently used are removed when the disk fills up.

Images that the owner or another agent pulled are never removed, nor those that a container uses. The thresholds are
the kubelet's (imageGCHighThresholdPercent and imageGCLowThresholdPercent).
"""

import json
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from agents.daemon.engine.interface import EngineRefused, Runtime
from agents.daemon.lib.atomic_files import write_atomically
from agents.daemon.lib.config import FULL_PERCENT

logger = logging.getLogger(__name__)

TRIM_PERCENT: Final = 5  # percentage points below the threshold at which removal stops
IN_USE_S: Final = 600.0  # an instance may be about to use it
CACHE_FILE: Final = "images.json"


class ImageCache:
    """Remembers in `path` the images that this agent pulled, least recently used first.

    Without a path it remembers them only until the agent ends.
    """

    def __init__(self, runtime: Runtime, path: Path | None = None, *, full_percent: int = FULL_PERCENT) -> None:
        self._runtime = runtime
        self._path = path
        self.full_percent = full_percent
        self._lock = threading.Lock()
        self._used: dict[str, float] = {}
        self._pulled = _read(path)

    def pulled(self) -> list[str]:
        """Return the references of the images that this agent pulled, least recently used first."""
        with self._lock:
            return list(self._pulled)

    def use(self, reference: str) -> None:
        """Note that an instance is about to be made of the image, whether it is here yet or not."""
        with self._lock:
            self._used[reference] = time.monotonic()
            if reference in self._pulled:
                self._pulled.remove(reference)
                self._pulled.append(reference)
                self._write()

    def add(self, reference: str, *, used: bool = True) -> None:
        """Add the image to those that this agent pulled; call it before the first byte arrives."""
        with self._lock:
            if reference not in self._pulled:
                self._pulled.insert(len(self._pulled) if used else 0, reference)
                self._write()

    def forget(self, reference: str) -> None:
        """Undo `add` for an image that did not arrive."""
        with self._lock:
            if reference in self._pulled:
                self._pulled.remove(reference)
                self._write()

    def make_room(self, needed_bytes: int) -> None:
        """Remove unused images until `needed_bytes` are free, or no more can be removed."""
        self._evict_until(lambda: self._runtime.free_image_bytes() >= needed_bytes)

    def trim(self) -> None:
        """Remove unused images from a disk that is too full."""
        if self.filled_percent() >= self.full_percent:
            self._evict_until(lambda: self.filled_percent() <= self.full_percent - TRIM_PERCENT)

    def filled_percent(self, more_bytes: int = 0) -> float:
        """Return how full the disk is in percent, or would be with `more_bytes`."""
        size, free = self._runtime.image_disk_bytes(), self._runtime.free_image_bytes()
        return 100 * (size - free + more_bytes) / size

    def _evict_until(self, enough: Callable[[], bool]) -> None:
        for reference in self.pulled():
            if enough():
                return
            if time.monotonic() - self._used.get(reference, float("-inf")) < IN_USE_S:
                continue
            try:
                gone = self._runtime.evict_image(reference)
            except EngineRefused as error:
                logger.warning("the image %s cannot be removed: %s", reference, error)
                continue
            if gone:
                logger.info("removed the image %s, which no instance uses: the disk has little room", reference)
                self.forget(reference)

    def _write(self) -> None:
        if self._path is None:
            return
        try:
            write_atomically(self._path, json.dumps(self._pulled).encode())
        except OSError as error:
            logger.warning("%s cannot be written; images pulled since then stay on this host: %s", self._path, error)


def _read(path: Path | None) -> list[str]:
    if path is None or not path.exists():
        return []
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        logger.warning("%s cannot be read; the images that it named stay on this host: %s", path, error)
        return []
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []
