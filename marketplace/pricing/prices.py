"""Price of an offer per GPU and hour in each billing mode, with the paid part of the data disk.

All amounts are integers.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from common.money import divide_half_up
from marketplace.constants import FREE_DATA_DISK_GB

_BPS: Final = 10_000
_HOURS_PER_DAY: Final = 24
TERM_HOURS: Final[Mapping[str, int]] = {"day": 24, "week": 168, "month": 720, "year": 8_760, "year3": 26_280}


def discounted(price_micros: int, off_bps: int) -> int:
    """Return `price_micros` less `off_bps` ten-thousandths, rounded half up to whole micro-units."""
    return divide_half_up(price_micros * (_BPS - off_bps), _BPS)


def unit_price_micros(
    *,
    mode: str,
    price_micros: int,
    term: str = "month",
    reserved_discounts: Mapping[str, int],
    tiers: Sequence[Sequence[int]],
    spot_floor_micros: int | None,
) -> int | None:
    """Return the first price per GPU and hour of a rent in this mode, or None if it is not sold.

    A tiered rent begins at the full price; a spot rent pays at least the floor.
    """
    match mode:
        case "hourly":
            return price_micros
        case "reserved" if term in reserved_discounts:
            return discounted(price_micros, reserved_discounts[term])
        case "tiered" if tiers:
            return price_micros
        case "spot":
            return spot_floor_micros
        case _:
            return None


def spot_price_micros(*, floor_micros: int | None, now_micros: int | None) -> int | None:
    """Return the present spot price per GPU and hour, or None without a spot market.

    It is the floor while nobody has to be outbid.
    """
    return None if floor_micros is None else max(floor_micros, now_micros or 0)


def disk_micros_per_hour(*, disk_micros_gb_day: int, data_disk_gb: int, share_of: int = 1) -> int:
    """Return the price per hour of a data disk above the free quota, rounded half up.

    `share_of` divides it, for example per GPU.
    """
    paid_gb = max(0, data_disk_gb - FREE_DATA_DISK_GB)
    return divide_half_up(disk_micros_gb_day * paid_gb, _HOURS_PER_DAY * share_of)


def all_in_micros(*, unit_micros: int, disk_micros_gb_day: int, data_disk_gb: int, gpu_count: int) -> tuple[int, int]:
    """Return (per GPU and hour, per hour of all GPUs), disk included.

    The first is for comparison, the second is what is paid.
    """
    share = disk_micros_per_hour(disk_micros_gb_day=disk_micros_gb_day, data_disk_gb=data_disk_gb, share_of=gpu_count)
    whole = disk_micros_per_hour(disk_micros_gb_day=disk_micros_gb_day, data_disk_gb=data_disk_gb)
    return unit_micros + share, unit_micros * gpu_count + whole
