"""Pulls official images ahead of rentals, while no renter's image is pulled and the disk has room."""

import logging
import threading
import time
from collections.abc import Sequence
from typing import Final

from agents.daemon.engine.interface import (
    ROOM_KEPT,
    EngineRefused,
    EngineSilent,
    ImageRequest,
    InsufficientDiskSpace,
    PullStalled,
    Runtime,
)
from agents.daemon.engine.pull_watch import UNPACKS_TO
from agents.daemon.reconciler.image_pulls import ImagePuller
from agents.protocol.messages import DesiredState, PrefetchImage

logger = logging.getLogger(__name__)

EVERY_S: Final = 60.0
RETRY_S: Final = 3600.0  # seconds until a failed image is tried again
MARGIN_PERCENT: Final = 10  # percentage points below the threshold at which unused images are removed


class ImagePrefetcher:
    """Removes unused images from a full disk and pulls the market's images, in a thread of its own."""

    def __init__(self, runtime: Runtime, images: ImagePuller, *, enabled: bool = True) -> None:
        self._runtime = runtime
        self._images = images
        self._cache = images.cache
        self._enabled = enabled
        self._wanted: Sequence[PrefetchImage] = ()
        self._failed: dict[str, float] = {}
        self._changed = threading.Event()

    def start(self, stopped: threading.Event) -> None:
        """Start the thread, which runs until `stopped`; a simulated engine has no disk and needs none."""
        if not self._runtime.instant:
            threading.Thread(target=self._run, args=(stopped,), name="prefetch", daemon=True).start()

    def apply(self, desired: DesiredState) -> None:
        """Apply the market's list; only images pinned by digest are ever pulled in advance."""
        if desired.images is not None and not desired.frozen:
            self._wanted = [item for item in desired.images if "@sha256:" in item.reference]
            self._changed.set()

    def _run(self, stopped: threading.Event) -> None:
        while not stopped.is_set():
            self._changed.clear()
            try:
                self._cache.trim()
                if self.pull_next():
                    continue
            except (EngineRefused, EngineSilent) as error:
                logger.warning("images were not looked after: %s", error)
            self._changed.wait(EVERY_S)

    def pull_next(self) -> bool:
        """Pull one wanted image that is missing; return whether there was one."""
        wanted = self._next()
        if wanted is None:
            return False
        reference = wanted.reference
        logger.info("pulling %s before it is asked for", reference)
        self._cache.add(reference, used=False)
        try:
            pull = ImageRequest(reference=reference, said=lambda _text, _layers: None, room=self._room)
            self._runtime.pull_image(pull, self._images.busy)
        except (EngineRefused, PullStalled, InsufficientDiskSpace) as error:
            logger.warning("%s was not pulled ahead: %s", reference, error)
            self._failed[reference] = time.monotonic()
        if not self._runtime.has_image(reference):
            self._cache.forget(reference)
            return False
        return True

    def _next(self) -> PrefetchImage | None:
        if not self._enabled or self._images.busy.is_set():
            return None
        for item in self._wanted:
            lately = time.monotonic() - self._failed.get(item.reference, float("-inf")) < RETRY_S
            if not lately and self._has_room(item.size_bytes) and not self._runtime.has_image(item.reference):
                return item
        return None

    def _has_room(self, size_bytes: int) -> bool:
        full = self._cache.full_percent - MARGIN_PERCENT
        return self._cache.filled_percent(size_bytes * UNPACKS_TO) < full

    def _room(self) -> int:
        """Return the free room for a pull in advance, which must leave more free than others."""
        return self._runtime.free_image_bytes() if self._has_room(0) else ROOM_KEPT - 1
