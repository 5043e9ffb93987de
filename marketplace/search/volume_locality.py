"""Offers in relation to a volume: `mountable_volume=vol_…` finds GPUs that can mount it.

They may be on its host, or on another one after a copy.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from common.ids import public_id
from common.resources import resource
from marketplace.pricing.transfer_time import transfer_minutes

MOUNTABLE: Final = "mountable_volume"


@dataclass(frozen=True)
class VolumePlace:
    """Location of a volume, and the bytes to copy; `id` and `host` are public ids."""

    id: str
    host: str
    region: str
    runtime: str
    carried_bytes: int
    up_mbps: int | None


@resource
class VolumeWayOut:
    """How the volume reaches the offer's host."""

    here: Annotated[bool, "It is on this host"]
    bytes: Annotated[int, "Bytes to transfer first; 0: none"]
    minutes: Annotated[int | None, "Estimate from the hosts' measured networks; null: unknown"]


# Returns the place of the volume with this public id. Raises NotFound.
PlaceOf = Callable[[str], VolumePlace]


def transfer_to(place: VolumePlace, offer: Mapping[str, Any]) -> VolumeWayOut:
    """Return the way of a volume to the host of a row of `search_offers`."""
    return _way(place, public_id("host", offer["host_id"]), offer["net_down_mbps"])


def way_to_shown(place: VolumePlace, offer: Mapping[str, Any]) -> VolumeWayOut:
    """Return the way of a volume to the host of an offer as JSON shows it."""
    return _way(place, offer["host"]["id"], offer["network"]["down_mbps"])


def _way(place: VolumePlace, host: str, down_mbps: int | None) -> VolumeWayOut:
    if host == place.host:
        return VolumeWayOut(here=True, bytes=0, minutes=0)
    minutes = transfer_minutes(place.carried_bytes, place.up_mbps, down_mbps)
    return VolumeWayOut(here=False, bytes=place.carried_bytes, minutes=minutes)
