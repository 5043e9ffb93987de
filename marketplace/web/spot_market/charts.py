"""Step chart of an offer's spot prices, with the hourly price and the floor for comparison."""

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from uuid import UUID

from common import clock
from marketplace.pricing.svg_charts import Axis, Tick, height_of, line_of, round_values, steps_of
from marketplace.spot_market.selectors import SpotPoint, spot_history

SPOT_CHART_DAYS = 7
_AIR = 10  # a tenth above and below the line


@dataclass(frozen=True)
class SpotChart:
    """Chart.

    `line` is a polyline; `floor_place` and `hourly_place` are heights, empty where they are outside of the
    picture.
    """

    line: str
    ticks: list[Tick]
    since: datetime
    until: datetime
    low_micros: int
    high_micros: int
    now_micros: int
    floor_place: str
    changes: int
    days: int


def spot_chart(offer_id: UUID, *, floor_micros: int | None, days: int = SPOT_CHART_DAYS) -> SpotChart | None:
    """Return the chart, or None where nobody has bid yet."""
    points = spot_history(offer_id, days=days)
    return _drawn(points, floor_micros, clock.now(), days) if points else None


def _drawn(points: list[SpotPoint], floor_micros: int | None, now: datetime, days: int) -> SpotChart:
    prices = [point.price_micros for point in points]
    known = prices if floor_micros is None else [*prices, floor_micros]
    low, high = min(known), max(known)
    air = max((high - low) // _AIR, high // _AIR, 1)
    x, y = Axis(0, max(Fraction(1), _seconds(points[0].at, now))), Axis(max(0, low - air), high + air)
    steps = [(_seconds(points[0].at, point.at), point.price_micros) for point in points]
    return SpotChart(
        line=line_of(x, y, steps_of(steps, x.high)),
        ticks=[Tick(height_of(y, value), int(value)) for value in round_values(y, 3)],
        since=points[0].at,
        until=now,
        low_micros=min(prices),
        high_micros=max(prices),
        now_micros=prices[-1],
        floor_place="" if floor_micros is None else height_of(y, floor_micros),
        changes=len(points) - 1,
        days=days,
    )


def _seconds(start: datetime, end: datetime) -> Fraction:
    return Fraction(int((end - start).total_seconds()))
