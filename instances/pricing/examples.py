"""Plans and work from the calculator's input, and its results for the API and the page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Final

from django.conf import settings

from billing.pricing.break_even import Crossing, crossings
from billing.pricing.estimates import (
    HOURLY,
    RESERVED,
    TIERED,
    UPFRONT,
    Estimate,
    Line,
    Plan,
    Step,
    Work,
    discounted_micros,
    estimate,
    spot_plan,
)
from common.errors import FieldError, InvalidInput
from common.money import MICROS_PER_UNIT, format_money
from common.resources import resource
from instances.pricing.price_plans import plain_number
from marketplace.pricing.prices import TERM_HOURS

# Break-even is searched up to this point: twice the longest term.
HORIZON_HOURS: Final = 2 * TERM_HOURS["year3"]


@dataclass(frozen=True)
class TierIn:
    """A tier, by its price or by its discount on the first price."""

    from_hours: Decimal
    unit_price: Decimal | None = None
    discount: Decimal | None = None


@dataclass(frozen=True)
class EstimateRequest:
    """The calculator's input; money in units of the currency, discounts as shares of one."""

    unit_price: Decimal
    hours: Decimal
    billing_mode: str = HOURLY
    modes: Sequence[str] = ()
    gpu_count: int = 1
    discount: Decimal = Decimal()
    tiers: Sequence[TierIn] = field(default_factory=tuple)
    storage_total: Decimal = Decimal()
    peak_factor: Decimal = Decimal(1)
    term: str | None = None
    payment: str = UPFRONT
    spot_price: Decimal | None = None
    floor: Decimal | None = None
    max_price: Decimal | None = None


def work_of(request: EstimateRequest) -> Work:
    return Work(Fraction(request.hours), request.gpu_count, micros_of(request.storage_total), Fraction(request.peak_factor))


def plan_of(request: EstimateRequest, mode: str) -> Plan:
    """Return the plan of one mode.

    Raises InvalidInput for tiers that do not rise, and for a spot price outside of floor and maximum. The discount
    applies to a mode that is requested alone; among several modes it is that of the reserved term.
    """
    hourly = micros_of(request.unit_price)
    own = hourly if request.modes and mode != RESERVED else discounted_micros(hourly, Fraction(request.discount))
    match mode:
        case "reserved":
            hours = TERM_HOURS[request.term] if request.term else None
            return Plan(RESERVED, own, (), hours, request.payment, after_micros=hourly)
        case "tiered":
            return Plan(TIERED, own, _steps(request.tiers, own))
        case "spot":
            return _spot(request, own)
        case _:
            return Plan(HOURLY, own)


def _spot(request: EstimateRequest, own: int) -> Plan:
    floor = 0 if request.floor is None else micros_of(request.floor)
    market = request.spot_price
    if market is None and request.modes:
        market = request.floor  # among several modes the unit price is the hourly one
    return spot_plan(
        market_micros=own if market is None else micros_of(market),
        floor_micros=floor,
        max_micros=None if request.max_price is None else micros_of(request.max_price),
    )


def _steps(tiers: Sequence[TierIn], unit_micros: int) -> tuple[Step, ...]:
    steps = [Step(Fraction(tier.from_hours), _step_price(tier, unit_micros)) for tier in tiers]
    hours = [step.from_hours for step in steps]
    if any(one <= 0 for one in hours) or hours != sorted(set(hours)):
        detail = "Each step begins after 0 hours and later than the one before it."
        raise InvalidInput(detail, errors=[FieldError("tiers", "invalid", detail)])
    return tuple(steps)


def _step_price(tier: TierIn, unit_micros: int) -> int:
    if tier.unit_price is not None:
        return micros_of(tier.unit_price)
    return discounted_micros(unit_micros, Fraction(tier.discount or 0))


def micros_of(amount: Decimal) -> int:
    """Return an amount in micro-units; it is exact, since amounts have at most six decimal places."""
    return int(amount * MICROS_PER_UNIT)


# Results.


@resource
class EstimateLine:
    """One item; the items add up to the total."""

    item: str
    quantity: str
    unit: str
    unit_price: str
    amount: str


@resource
class ModeEstimate:
    """Cost of the workload in one mode."""

    billing_mode: str
    total: str
    commitment_total: Annotated[str | None, "Full cost of a reserved term's GPUs, used or not"]
    lines: list[EstimateLine]


@resource
class CrossingOut:
    """The hours of use beyond which one mode costs less than another."""

    cheaper: str
    dearer: str
    hours: str


@resource
class EstimateOut:
    """The estimate, and those of all requested `modes`."""

    currency: str
    billing_mode: str
    total: str
    commitment_total: Annotated[str | None, "Full cost of a reserved term's GPUs, used or not"]
    lines: list[EstimateLine]
    modes: list[ModeEstimate]
    break_even: Annotated[list[CrossingOut], "Earliest first; computed up to twice the longest term"]


def estimate_response(request: EstimateRequest) -> EstimateOut:
    """Return the response of `POST /estimates`."""
    work = work_of(request)
    plans = {mode: plan_of(request, mode) for mode in request.modes}
    one = estimate(plans.get(request.billing_mode) or plan_of(request, request.billing_mode), work)
    return EstimateOut(
        currency=settings.MARKET_CURRENCY,
        **vars(estimate_resource(one)),
        modes=[estimate_resource(estimate(plan, work)) for plan in plans.values()],
        break_even=[crossing_resource(each) for each in crossings_of(plans)],
    )


def crossings_of(plans: Mapping[str, Plan]) -> list[Crossing]:
    return crossings(plans, Fraction(HORIZON_HOURS))


def estimate_resource(found: Estimate) -> ModeEstimate:
    owed = found.commitment_micros
    return ModeEstimate(
        billing_mode=found.mode,
        total=format_money(found.total_micros),
        commitment_total=None if owed is None else format_money(owed),
        lines=[_line(line) for line in found.lines],
    )


def _line(line: Line) -> EstimateLine:
    return EstimateLine(
        item=line.item,
        quantity=plain_number(line.quantity),
        unit=line.unit,
        unit_price=format_money(line.unit_micros),
        amount=format_money(line.amount_micros),
    )


def crossing_resource(each: Crossing) -> CrossingOut:
    return CrossingOut(cheaper=each.cheaper, dearer=each.dearer, hours=plain_number(each.hours))
