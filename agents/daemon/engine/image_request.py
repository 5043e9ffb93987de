"""Request for an image with its limits, and the reasons for which it may fail."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from agents.protocol.messages import LayerProgress

STALL_SECONDS = 120.0
TOTAL_SECONDS = 20 * 60.0
GIB = 1024**3
# Stays free on the engine's disk, whatever size an image declares or unpacks to: other instances need it too.
ROOM_KEPT = 2 * GIB

Said = Callable[[str, tuple[LayerProgress, ...]], None]


class PullStalled(Exception):
    """The image did not arrive within the limits."""


class NoRoom(Exception):
    """The image would fill the disk on which the engine keeps everything."""


@dataclass(frozen=True)
class Pull:
    """Image to be pulled or pushed. `auth` is the registry's login, which is never stored or logged."""

    reference: str
    said: Said
    auth: Mapping[str, str] = field(default_factory=dict, repr=False)
    stall_s: float = STALL_SECONDS
    total_s: float = TOTAL_SECONDS
    room: Callable[[], int] = field(default=lambda: ROOM_KEPT)  # returns the free bytes where the engine keeps images
