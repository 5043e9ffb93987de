"""Offers in relation to a volume: `mountable_volume=vol_…` finds GPUs that can mount it.

They may be on its host, or on another one after a copy.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from common.ids import public_id
from marketplace.pricing.transfer_time import minutes_of_way

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


@dataclass(frozen=True)
class VolumeWay:
    """Whether the volume is on an offer's host, else the bytes and approximate minutes of a copy."""

    here: bool
    bytes: int = 0
    minutes: int | None = 0


# Returns the place of the volume with this public id. Raises NotFound.
PlaceOf = Callable[[str], VolumePlace]


def way_to(place: VolumePlace, offer: Mapping[str, Any]) -> VolumeWay:
    """Return the way of a volume to the host of a row of `search_offers`."""
    if public_id("host", offer["host_id"]) == place.host:
        return VolumeWay(here=True)
    minutes = minutes_of_way(place.carried_bytes, place.up_mbps, offer["net_down_mbps"])
    return VolumeWay(here=False, bytes=place.carried_bytes, minutes=minutes)


def way_shape(place: VolumePlace, offer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the way of a volume to an offer in its API form."""
    if offer["host"]["id"] == place.host:
        return {"here": True, "bytes": 0, "minutes": 0}
    minutes = minutes_of_way(place.carried_bytes, place.up_mbps, offer["network"]["down_mbps"])
    return {"here": False, "bytes": place.carried_bytes, "minutes": minutes}
