"""The calculator: what use costs in each billing mode, line by line. Integers and exact fractions, no offer, no database.

Two roundings, both half up to whole micro-units: a discounted price per GPU-hour is itself a price, as meters charge it;
and the lines are cut from the exact total, so that they add up to it however it is divided.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from common.errors import wrong_field
from common.money import divide_half_up, format_money

HOURLY: Final = "hourly"
RESERVED: Final = "reserved"
TIERED: Final = "tiered"
SPOT: Final = "spot"
MODES: Final = (HOURLY, RESERVED, TIERED, SPOT)
UPFRONT: Final = "upfront"
NO_UPFRONT: Final = "none"


@dataclass(frozen=True)
class Step:
    """From so many hours of continuous use on a GPU-hour costs this much."""

    from_hours: Fraction
    unit_micros: int


@dataclass(frozen=True)
class Plan:
    """A billing mode with its prices per GPU and hour.

    `unit_micros` is what is paid from the first hour on: the discounted price of a reserved term, the market price of a
    spot rent. A reserved plan with a term commits to all of it, and goes on at `after_micros` when it is over.
    """

    mode: str
    unit_micros: int
    steps: tuple[Step, ...] = ()
    term_hours: int | None = None
    payment: str = UPFRONT
    after_micros: int | None = None


@dataclass(frozen=True)
class Work:
    """How long, on how many GPUs, with what storage. The peak factor multiplies everything."""

    hours: Fraction
    gpu_count: int = 1
    storage_micros: int = 0
    peak_factor: Fraction = Fraction(1)


@dataclass(frozen=True)
class Line:
    """One line: `quantity` × `unit_micros` is `amount_micros`, but for the rounding of the total."""

    item: str
    quantity: Fraction
    unit: str
    unit_micros: int
    amount_micros: int


@dataclass(frozen=True)
class Estimate:
    """What the work costs. `commitment_micros` is what a reserved term comes to whether it is used or not."""

    mode: str
    total_micros: int
    lines: tuple[Line, ...]
    commitment_micros: int | None = None


def discounted_micros(unit_micros: int, off: Fraction) -> int:
    """A price less a share of it, rounded half up: the price that is charged."""
    return round_half_up(unit_micros * (1 - off))


def spot_plan(*, market_micros: int, floor_micros: int = 0, max_micros: int | None = None) -> Plan:
    """A spot rent at the market price. Raises InvalidInput when the price is not within floor and maximum."""
    if max_micros is not None and max_micros < floor_micros:
        raise wrong_field("max_price", f"The maximum must reach the floor of {format_money(floor_micros)}.")
    if market_micros < floor_micros:
        raise wrong_field("unit_price", f"The market price is never below the floor of {format_money(floor_micros)}.")
    if max_micros is not None and market_micros > max_micros:
        raise wrong_field("max_price", f"At a market price of {format_money(market_micros)} this maximum would not run.")
    return Plan(SPOT, market_micros)


def estimate(plan: Plan, work: Work) -> Estimate:
    """The total of this work, exactly rounded, and its lines."""
    parts = [
        (item, hours * work.gpu_count, "GPU-hour", Fraction(unit_micros))
        for item, hours, unit_micros in _pieces(plan, work.hours)
    ]
    if work.storage_micros:
        parts.append(("Storage", Fraction(1), "total", Fraction(work.storage_micros)))
    if work.peak_factor != 1:
        base = sum((quantity * price for _item, quantity, _unit, price in parts), Fraction())
        parts.append(("Peak factor", work.peak_factor - 1, "of the sum", base))
    lines = _lines(parts)
    return Estimate(plan.mode, sum(line.amount_micros for line in lines), lines, _commitment(plan, work))


def cost_at(plan: Plan, hours: Fraction) -> Fraction:
    """What a GPU costs that is used for so long, exactly; a reserved term is owed whole."""
    used = max(hours, Fraction(plan.term_hours or 0)) if plan.mode == RESERVED else hours
    return sum((length * unit_micros for _item, length, unit_micros in _pieces(plan, used)), Fraction())


def round_half_up(value: Fraction) -> int:
    return divide_half_up(value.numerator, value.denominator)


def _pieces(plan: Plan, hours: Fraction) -> list[tuple[str, Fraction, int]]:
    """(what, hours, price per GPU-hour) of the stretches that `hours` fall into."""
    match plan.mode:
        case "tiered":
            return _stretches(plan, hours)
        case "reserved" if plan.term_hours is not None:
            return _term(plan, hours, plan.term_hours)
        case _:
            return [(plan.mode, hours, plan.unit_micros)]


def _stretches(plan: Plan, hours: Fraction) -> list[tuple[str, Fraction, int]]:
    starts = [Step(Fraction(0), plan.unit_micros), *plan.steps]
    ends = [step.from_hours for step in plan.steps] + [hours]
    found = []
    for step, end in zip(starts, ends, strict=True):
        length = min(end, hours) - step.from_hours
        if length > 0:
            found.append((TIERED, length, step.unit_micros))
    return found


def _term(plan: Plan, hours: Fraction, term_hours: int) -> list[tuple[str, Fraction, int]]:
    """Upfront the whole term is paid, else each hour of it that has passed; then the hourly price."""
    owed = Fraction(term_hours) if plan.payment == UPFRONT else min(hours, Fraction(term_hours))
    after = plan.unit_micros if plan.after_micros is None else plan.after_micros
    rest = hours - term_hours
    return [(RESERVED, owed, plan.unit_micros)] + ([(HOURLY, rest, after)] if rest > 0 else [])


def _commitment(plan: Plan, work: Work) -> int | None:
    if plan.mode != RESERVED or plan.term_hours is None:
        return None
    return plan.unit_micros * plan.term_hours * work.gpu_count


def _lines(parts: Sequence[tuple[str, Fraction, str, Fraction]]) -> tuple[Line, ...]:
    """Each amount is the difference of rounded sums, so that all of them add up to the rounded sum of everything."""
    found, exact, rounded = [], Fraction(), 0
    for item, quantity, unit, price in parts:
        exact += quantity * price
        upto = round_half_up(exact)
        found.append(Line(item, quantity, unit, round_half_up(price), upto - rounded))
        rounded = upto
    return tuple(found)
