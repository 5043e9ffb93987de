"""Cost of a run on an offer in each billing mode that the offer sells, in integers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from common import clock
from common.money import divide_half_up
from marketplace.pricing.offer_requirements import terms_within
from marketplace.pricing.prices import TERM_HOURS, all_in_micros, discounted, unit_price_micros

_SECONDS_PER_HOUR: Final = 3600


@dataclass(frozen=True)
class ModeCost:
    """Cost in one mode.

    `hourly_micros` is for all GPUs, disk included, at the start; `total_micros` is None where the hours are
    unknown. A reserved term is paid in full: the shortest term that covers the hours. A spot price is the floor
    and may be higher.
    """

    mode: str
    term: str
    hourly_micros: int
    total_micros: int | None


def mode_costs(row: Mapping[str, Any], *, gpu_count: int, data_disk_gb: int, hours: float | None) -> tuple[ModeCost, ...]:
    """Return the costs for a row of the market, the cheapest mode for these hours first."""
    terms = _terms(row, hours)
    found = []
    for mode, term in (("hourly", ""), ("tiered", ""), *(("reserved", term) for term in terms), ("spot", "")):
        unit = _unit(row, mode, term)
        if unit is None:
            continue
        _each, hourly = _with_disk(row, unit, gpu_count, data_disk_gb)
        total = None if hours is None else _total(row, mode, term, hours, gpu_count=gpu_count, data_disk_gb=data_disk_gb)
        found.append(ModeCost(mode, term, hourly, total))
    return tuple(sorted(found, key=lambda cost: cost.hourly_micros if cost.total_micros is None else cost.total_micros))


def tiered_micros(price_micros: int, tiers: Sequence[Sequence[int]], seconds: int) -> int:
    """Return the cost of one GPU for this many seconds of continuous use, at the price of each step."""
    starts = [(0, 0), *((hours * _SECONDS_PER_HOUR, off) for hours, off in tiers)]
    ends = [start for start, _off in starts[1:]] + [max(seconds, starts[-1][0])]
    numerator = sum(
        discounted(price_micros, off) * max(0, min(seconds, end) - start)
        for (start, off), end in zip(starts, ends, strict=True)
    )
    return divide_half_up(numerator, _SECONDS_PER_HOUR)


def _terms(row: Mapping[str, Any], hours: float | None) -> list[str]:
    """Return the shortest offered term that covers the hours; the month where they are unknown.

    Only terms that the host stays for count.
    """
    sold = terms_within(row["reserved_discounts"], listed_until=row["listed_until"], now=clock.now())
    if hours is None:
        return ["month"] if "month" in sold else sold[:1]
    return [term for term in sold if TERM_HOURS[term] >= hours][:1]


def _unit(row: Mapping[str, Any], mode: str, term: str) -> int | None:
    return unit_price_micros(
        mode=mode,
        price_micros=row["price_micros"],
        term=term,
        reserved_discounts=row["reserved_discounts"],
        tiers=row["tiers"],
        spot_floor_micros=row["spot_floor_micros"],
    )


def _with_disk(row: Mapping[str, Any], unit: int, gpu_count: int, data_disk_gb: int) -> tuple[int, int]:
    rate = row["disk_micros_gb_day"]
    return all_in_micros(unit_micros=unit, disk_micros_gb_day=rate, data_disk_gb=data_disk_gb, gpu_count=gpu_count)


def _total(row: Mapping[str, Any], mode: str, term: str, hours: float, *, gpu_count: int, data_disk_gb: int) -> int:
    """Return the cost of GPUs for the charged time, and of the disk."""
    seconds = TERM_HOURS[term] * _SECONDS_PER_HOUR if mode == "reserved" else math.ceil(hours * _SECONDS_PER_HOUR)
    _each, disk = _with_disk(row, 0, gpu_count, data_disk_gb)
    if mode == "tiered":
        gpus = gpu_count * tiered_micros(row["price_micros"], row["tiers"], seconds)
    else:
        gpus = divide_half_up((_unit(row, mode, term) or 0) * gpu_count * seconds, _SECONDS_PER_HOUR)
    return gpus + divide_half_up(disk * seconds, _SECONDS_PER_HOUR)
