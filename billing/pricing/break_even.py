"""Hours of use from which one billing mode is cheaper than another.

The result is exact, since costs are piecewise linear.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise

from billing.pricing.estimates import RESERVED, Plan, cost_at


@dataclass(frozen=True)
class Crossing:
    """Hours from which `cheaper` costs less than `dearer`, which cost less or the same before."""

    cheaper: str
    dearer: str
    hours: Fraction


def crossings(plans: Mapping[str, Plan], until: Fraction) -> list[Crossing]:
    """Return each change of the cheaper of two plans, after the start and before `until`, earliest first."""
    found = [each for one, other in combinations(plans, 2) for each in _between(plans, one, other, until)]
    return sorted(found, key=lambda each: (each.hours, each.cheaper, each.dearer))


def bends(plan: Plan) -> set[Fraction]:
    """Return the hours at which the slope of the plan's cost changes."""
    at = {step.from_hours for step in plan.steps}
    if plan.mode == RESERVED and plan.term_hours is not None:
        at.add(Fraction(plan.term_hours))
    return at


def _between(plans: Mapping[str, Plan], one: str, other: str, until: Fraction) -> list[Crossing]:
    inner = {hours for hours in bends(plans[one]) | bends(plans[other]) if 0 < hours < until}
    ends = sorted(inner | {Fraction(0), until})
    found: list[Crossing] = []
    ahead = ""  # the cheaper one so far
    for start, end in pairwise(ends):
        first, last = _gap(plans, one, other, start), _gap(plans, one, other, end)
        if first:
            ahead = ahead or _cheaper(one, other, first)
        winner = _cheaper(one, other, last) if last else ahead
        if winner != ahead:
            if ahead or start:  # at the very start there is no earlier order to change
                hours = start + (end - start) * first / (first - last)
                found.append(Crossing(winner, one if winner == other else other, hours))
            ahead = winner
    return found


def _gap(plans: Mapping[str, Plan], one: str, other: str, hours: Fraction) -> Fraction:
    return cost_at(plans[one], hours) - cost_at(plans[other], hours)


def _cheaper(one: str, other: str, gap: Fraction) -> str:
    return one if gap < 0 else other
