"""The calculator: cost of use in each billing mode, line by line, in integers and exact fractions.

It needs no offer and no database. There are two roundings, both half up to whole micro-units: a discounted price per
GPU-hour is itself a price, as meters charge it; and lines are cut from the exact total, so that they add up to it
however it is divided.
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
    """Price of a GPU-hour from this many hours of continuous use on."""

    from_hours: Fraction
    unit_micros: int


@dataclass(frozen=True)
class Plan:
    """Billing mode with its prices per GPU and hour.

    `unit_micros` is the price from the first hour on: the discounted price of a reserved term, the market price
    of a spot rent. A reserved plan with a term commits to all of it, and continues at `after_micros` when it is
    over.
    """

    mode: str
    unit_micros: int
    steps: tuple[Step, ...] = ()
    term_hours: int | None = None
    payment: str = UPFRONT
    after_micros: int | None = None


@dataclass(frozen=True)
class Work:
    """Duration, number of GPUs and storage of a workload; the peak factor multiplies everything."""

    hours: Fraction
    gpu_count: int = 1
    storage_micros: int = 0
    peak_factor: Fraction = Fraction(1)


@dataclass(frozen=True)
class Line:
    """Line of an estimate: `quantity` × `unit_micros` is `amount_micros`, up to rounding of the total."""

    item: str
    quantity: Fraction
    unit: str
    unit_micros: int
    amount_micros: int


@dataclass(frozen=True)
class Estimate:
    """Cost of the work; `commitment_micros` is the price of a reserved term, used or not."""

    mode: str
    total_micros: int
    lines: tuple[Line, ...]
    commitment_micros: int | None = None


def discounted_micros(unit_micros: int, off: Fraction) -> int:
    """Return a price less a share of it, rounded half up: the price that is charged."""
    return round_half_up(unit_micros * (1 - off))


def spot_plan(*, market_micros: int, floor_micros: int = 0, max_micros: int | None = None) -> Plan:
    """Return the plan of a spot rent at the market price.

    Raises:
        InvalidInput: the price is not between floor and maximum.
    """
    if max_micros is not None and max_micros < floor_micros:
        raise wrong_field("max_price", f"The max price must be at least the floor price of {format_money(floor_micros)}.")
    if market_micros < floor_micros:
        raise wrong_field("unit_price", f"The spot price is never below the floor price of {format_money(floor_micros)}.")
    if max_micros is not None and market_micros > max_micros:
        raise wrong_field(
            "max_price",
            f"This max price is below the spot price of {format_money(market_micros)}, so the instance would not run.",
        )
    return Plan(SPOT, market_micros)


def estimate(plan: Plan, work: Work) -> Estimate:
    """Return the rounded total of this work, and its lines."""
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
    """Return the exact cost of one GPU used for this long; a reserved term is owed in full."""
    used = max(hours, Fraction(plan.term_hours or 0)) if plan.mode == RESERVED else hours
    return sum((length * unit_micros for _item, length, unit_micros in _pieces(plan, used)), Fraction())


def round_half_up(value: Fraction) -> int:
    return divide_half_up(value.numerator, value.denominator)


def _pieces(plan: Plan, hours: Fraction) -> list[tuple[str, Fraction, int]]:
    """Return (what, hours, price per GPU-hour) for each part of the hours."""
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
    """Return the parts of a term: all of it if paid upfront, else passed hours; then hourly use."""
    owed = Fraction(term_hours) if plan.payment == UPFRONT else min(hours, Fraction(term_hours))
    after = plan.unit_micros if plan.after_micros is None else plan.after_micros
    rest = hours - term_hours
    return [(RESERVED, owed, plan.unit_micros)] + ([(HOURLY, rest, after)] if rest > 0 else [])


def _commitment(plan: Plan, work: Work) -> int | None:
    if plan.mode != RESERVED or plan.term_hours is None:
        return None
    return plan.unit_micros * plan.term_hours * work.gpu_count


def _lines(parts: Sequence[tuple[str, Fraction, str, Fraction]]) -> tuple[Line, ...]:
    """Return lines whose amounts are differences of rounded sums, so that they add up to the total."""
    found, exact, rounded = [], Fraction(), 0
    for item, quantity, unit, price in parts:
        exact += quantity * price
        upto = round_half_up(exact)
        found.append(Line(item, quantity, unit, round_half_up(price), upto - rounded))
        rounded = upto
    return tuple(found)
