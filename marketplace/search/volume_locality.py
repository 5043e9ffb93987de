"""The market beside a volume: `mountable_volume=vol_…` asks for GPUs that it can be mounted to, here or after a move."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from common.ids import public_id
from marketplace.pricing.transfer_time import minutes_of_way

MOUNTABLE: Final = "mountable_volume"


@dataclass(frozen=True)
class VolumePlace:
    """Where a volume lies, and how much would have to be carried; `id` and `host` are public ids."""

    id: str
    host: str
    region: str
    runtime: str
    carried_bytes: int
    up_mbps: int | None


@dataclass(frozen=True)
class VolumeWay:
    """Whether the volume lies on an offer's host already, else what has to be carried there, in about how many minutes."""

    here: bool
    bytes: int = 0
    minutes: int | None = 0


# Of the volume of this public id. Raises NotFound.
PlaceOf = Callable[[str], VolumePlace]


def way_to(place: VolumePlace, offer: Mapping[str, Any]) -> VolumeWay:
    """To the host of a row of `search_offers`."""
    if public_id("host", offer["host_id"]) == place.host:
        return VolumeWay(here=True)
    minutes = minutes_of_way(place.carried_bytes, place.up_mbps, offer["net_down_mbps"])
    return VolumeWay(here=False, bytes=place.carried_bytes, minutes=minutes)


def way_shape(place: VolumePlace, offer: Mapping[str, Any]) -> dict[str, Any]:
    """The same of an offer as the API shows it."""
    if offer["host"]["id"] == place.host:
        return {"here": True, "bytes": 0, "minutes": 0}
    minutes = minutes_of_way(place.carried_bytes, place.up_mbps, offer["network"]["down_mbps"])
    return {"here": False, "bytes": place.carried_bytes, "minutes": minutes}
