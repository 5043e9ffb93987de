"""Geometry of charts drawn on the server: positions on an axis, and round numbers as labels.

A chart is an SVG of any width: texts are at percentages, and lines in a box of 1000 × 1000 that is stretched to fit.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

BOX: Final = 1000
_PLOT_PERCENT: Final = 88  # the rest, below, is for labels of the lower axis
_STEPS: Final = (Fraction(1), Fraction(2), Fraction(5), Fraction(10))

Number = Fraction | int


@dataclass(frozen=True)
class Axis:
    """Range of values from `low` to `high`."""

    low: Number
    high: Number

    def share(self, value: Number) -> Fraction:
        return (Fraction(value) - self.low) / (Fraction(self.high) - self.low)

    def inside(self, values: Iterable[Number]) -> list[Number]:
        return [value for value in values if self.low <= value <= self.high]


@dataclass(frozen=True)
class Tick:
    """A value and the position of its label."""

    place: str
    value: Number


def line_of(x: Axis, y: Axis, points: Sequence[tuple[Number, Number]]) -> str:
    """Return the `points` of a polyline in the box."""
    return " ".join(f"{_in_box(x.share(across))},{_in_box(1 - y.share(up))}" for across, up in points)


def steps_of(points: Sequence[tuple[Number, Number]], until: Number) -> list[tuple[Number, Number]]:
    """Return the points of a step line: each point, and the corner before the next."""
    found: list[tuple[Number, Number]] = []
    ends = [*(across for across, _up in points[1:]), until]
    for (across, up), end in zip(points, ends, strict=True):
        found += [(across, up), (end, up)]
    return found


def across(x: Axis, value: Number) -> str:
    return _percent(x.share(value) * 100)


def height_of(y: Axis, value: Number) -> str:
    """Return a height as a percentage of the whole picture, whose lowest part is for labels."""
    return _percent((1 - y.share(value)) * _PLOT_PERCENT)


def round_values(axis: Axis, about: int = 4) -> list[Fraction]:
    """Return about this many round numbers within the axis."""
    rough = (Fraction(axis.high) - axis.low) / about
    scale = Fraction(10) ** (len(str(int(rough))) - 1) if rough >= 1 else _small_scale(rough)
    step = next(scale * each for each in _STEPS if scale * each >= rough)
    first = -(-Fraction(axis.low) // step)
    return [number * step for number in range(int(first), int(Fraction(axis.high) // step) + 1)]


def _small_scale(rough: Fraction) -> Fraction:
    scale = Fraction(1)
    while scale > rough:
        scale /= 10
    return scale


def _in_box(share: Fraction) -> str:
    return f"{float(share * BOX):.1f}".removesuffix(".0")


def _percent(value: Fraction) -> str:
    return f"{float(value):.2f}%"
