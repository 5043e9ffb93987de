"""Earnings by day as a bar chart drawn on the server."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from instances.earnings.allocation import EarningsSum
from marketplace.pricing.svg_charts import BOX, Axis, Tick, height_of, round_values

_GAP: Final = 0.25  # as a share of a day's width


@dataclass(frozen=True)
class Bar:
    """One day in the chart: from the bottom net, fee and refunds, in coordinates of the box."""

    day: date
    sum: EarningsSum
    x: str
    width: str
    hit_x: str
    hit_width: str
    net_y: str
    net_height: str
    fee_y: str
    fee_height: str
    back_y: str
    back_height: str


@dataclass(frozen=True)
class Chart:
    bars: list[Bar]
    ticks: list[Tick]
    since: date
    until: date


def chart_of(days: Mapping[date, EarningsSum], *, since: date, until: date) -> Chart | None:
    """Return the chart, or None where nothing was charged."""
    most = max((each.gross_micros for each in days.values()), default=0)
    if most == 0:
        return None
    count, high = (until - since).days + 1, most + most // 10 + 1
    y = Axis(0, high)
    every = [since + timedelta(days=number) for number in range(count)]
    bars = [_bar(number, day, days[day], BOX / count, high) for number, day in enumerate(every) if day in days]
    return Chart(bars, [Tick(height_of(y, value), int(value)) for value in round_values(y, 3) if value], since, until)


def _bar(number: int, day: date, found: EarningsSum, width: float, high: int) -> Bar:
    heights = [max(0, micros) * BOX / high for micros in (found.net_micros, found.fee_micros, found.given_back_micros)]
    net, fee, back = heights
    return Bar(
        day,
        found,
        x=_place((number + _GAP / 2) * width),
        width=_place(width * (1 - _GAP)),
        hit_x=_place(number * width),
        hit_width=_place(width),
        net_y=_place(BOX - net),
        net_height=_place(net),
        fee_y=_place(BOX - net - fee),
        fee_height=_place(fee),
        back_y=_place(BOX - net - fee - back),
        back_height=_place(back),
    )


def _place(value: float) -> str:
    return f"{value:.2f}"
