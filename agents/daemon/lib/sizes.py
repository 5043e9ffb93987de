"""Sizes in bytes, and the room that every disk of a host keeps free."""

from typing import Final

MIB: Final = 1024**2
GIB: Final = 1024**3
HEADROOM: Final = GIB
