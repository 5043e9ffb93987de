"""Step chart of an offer's price history."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from common import clock
from marketplace.constants import PRICE_HISTORY_DAYS
from marketplace.pricing.selectors import PricePoint, price_history
from marketplace.pricing.svg_charts import Axis, Number, Tick, height_of, line_of, round_values, steps_of

_AIR: Final = 10  # a tenth above and below the line


@dataclass(frozen=True)
class PriceChart:
    """Chart; `line` and `spot_line` are polylines, `low_micros` to `high_micros` is the range of prices."""

    line: str
    spot_line: str
    ticks: list[Tick]
    since: datetime
    until: datetime
    low_micros: int
    high_micros: int
    now_micros: int
    changes: int


def price_chart(offer_id: UUID, *, days: int = PRICE_HISTORY_DAYS) -> PriceChart | None:
    """Return the chart, or None for an offer that never had a price."""
    points = price_history(offer_id, days=days)
    return _drawn(points, clock.now()) if points else None


def _drawn(points: list[PricePoint], now: datetime) -> PriceChart:
    prices = [point.price_micros for point in points]
    floors = [point.spot_floor_micros for point in points if point.spot_floor_micros is not None]
    y = _axis([*prices, *floors])
    x = Axis(0, max(1, _seconds(points[0].at, now)))
    until = x.high
    steps = [(_seconds(points[0].at, point.at), point.price_micros) for point in points]
    return PriceChart(
        line=line_of(x, y, steps_of(steps, until)),
        spot_line=_spot_line(points, x, y),
        ticks=[Tick(height_of(y, value), int(value)) for value in round_values(y, 3)],
        since=points[0].at,
        until=now,
        low_micros=min(prices),
        high_micros=max(prices),
        now_micros=prices[-1],
        changes=len(points) - 1,
    )


def _spot_line(points: list[PricePoint], x: Axis, y: Axis) -> str:
    """Return the line from the last time that a floor was set: before it there may have been none."""
    latest: list[tuple[Number, Number]] = []
    for point in points:
        at = _seconds(points[0].at, point.at)
        latest = [] if point.spot_floor_micros is None else [*latest, (at, point.spot_floor_micros)]
    return line_of(x, y, steps_of(latest, x.high)) if latest else ""


def _axis(values: list[int]) -> Axis:
    low, high = min(values), max(values)
    air = max((high - low) // _AIR, high // _AIR, 1)
    return Axis(max(0, low - air), high + air)


def _seconds(start: datetime, end: datetime) -> int:
    return int((end - start).total_seconds())
