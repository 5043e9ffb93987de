"""An image to be brought, with its limits, and why it may not come."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from agents.protocol.messages import LayerProgress

STALL_SECONDS = 120.0
TOTAL_SECONDS = 20 * 60.0
GIB = 1024**3
# What stays free on the engine's disk whatever an image claims or unpacks to: other instances live there, too.
ROOM_KEPT = 2 * GIB

Said = Callable[[str, tuple[LayerProgress, ...]], None]


class PullStalled(Exception):
    """The image did not arrive within the limits."""


class NoRoom(Exception):
    """What was asked for would fill the disk that the engine keeps everything on."""


@dataclass(frozen=True)
class Pull:
    """An image to be brought. `auth` is the login of its registry: never written down, never in a log."""

    reference: str
    said: Said
    auth: Mapping[str, str] = field(default_factory=dict, repr=False)
    stall_s: float = STALL_SECONDS
    total_s: float = TOTAL_SECONDS
    room: Callable[[], int] = field(default=lambda: ROOM_KEPT)  # bytes free where the engine keeps images
