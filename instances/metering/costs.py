"""Costs of instances over all their meters, with their terms and the next step of a tiered rent."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from billing.constants import DISK_SOURCE, HOLD_SOURCE, HOUR_US, INSTANCE_SOURCE, RETENTION_SOURCE, TERM_SOURCE
from billing.metering.costs import Cost, costs_of
from billing.metering.source_selectors import continuous_use
from billing.pricing.estimates import RESERVED, SPOT, TIERED, UPFRONT
from billing.statements.selectors import StatementLine, statement_lines
from instances.constants import CONTINUOUS_WITHIN
from instances.core.selectors import all_terms_of, bids_of
from instances.models import Instance, SpotBid, Term
from instances.states import InstanceState, TermState
from marketplace.spot_market.selectors import QueuePosition, queue_positions

_CHARGES: Final = ("charge", "refund", "prepaid", "exit_fee")
_OWN: Final = (INSTANCE_SOURCE, DISK_SOURCE, HOLD_SOURCE, RETENTION_SOURCE)


@dataclass(frozen=True)
class NextStep:
    """The next step of a tiered rent: after so many hours of continuous use all GPUs cost this rate.

    `at` is when it is reached by an instance that runs, None for a stopped one.
    """

    from_hours: int
    rate_micros: int
    used_hours: float
    in_hours: float
    at: datetime | None


@dataclass(frozen=True)
class InstanceCost:
    """Costs and terms of one instance."""

    cost: Cost = field(default_factory=Cost)
    term: Term | None = None
    coming: Term | None = None
    rate_micros: int = 0
    next_step: NextStep | None = None
    bid: SpotBid | None = None
    place: QueuePosition | None = None

    @property
    def waits(self) -> Term | None:
        """Return the term that is agreed on and begins with the first run."""
        return self.coming if self.term is None else None


def cost_of(instance: Instance, now: datetime) -> InstanceCost:
    return costs_of_instances([instance], now)[instance.pk]


def costs_of_instances(instances: Sequence[Instance], now: datetime) -> dict[UUID, InstanceCost]:
    """Return the bills of all these instances with a few queries.

    Kinds of meters that none of them ever had are not queried.
    """
    terms = _terms(instances)
    costs = _costs(instances, terms, now)
    used = _used([each.pk for each in instances if each.billing_mode == TIERED and each.started_at], now)
    found = {
        each.pk: _instance_cost(each, costs[each.pk], terms.get(each.pk, ()), used.get(each.pk), now) for each in instances
    }
    bids = bids_of([each.pk for each in instances if each.billing_mode == SPOT])
    found |= {bid.pk: replace(found[bid.pk], bid=bid) for bid in bids}
    waiting = [each.pk for each in instances if each.state == InstanceState.WAITING and each.billing_mode != SPOT]
    places = queue_positions(waiting) if waiting else {}
    return found | {key: replace(found[key], place=place) for key, place in places.items()}


def charges_of(instance: Instance) -> list[StatementLine]:
    """Return charges and refunds of the instance, newest first, without movements of coupon money."""
    names: list[UUID | tuple[str, UUID]] = [instance.pk]
    names += [(TERM_SOURCE, term.pk) for term in all_terms_of([instance.pk])]
    lines = [line for name in names for line in statement_lines(owner_id=instance.renter_id, source=name)]
    return sorted((line for line in lines if line.kind in _CHARGES), key=lambda line: line.at, reverse=True)


def present_rate(instance: Instance, term: Term | None, used_us: int) -> int:
    """Return the present rate of all GPUs per hour.

    It is the term's rate, or the step that a tiered rent has reached, or the price of a run without GPUs.
    """
    if instance.runs_without_gpus:
        return instance.cpu_micros_per_hour
    if term is not None:
        return term.unit_micros * term.gpu_count
    reached = [rate for hours, rate in instance.tiers if hours * HOUR_US <= used_us]
    return reached[-1] if reached and instance.billing_mode == TIERED else instance.rate_micros_per_hour


def _instance_cost(
    instance: Instance, cost: Cost, terms: Iterable[Term], use: tuple[int, datetime] | None, now: datetime
) -> InstanceCost:
    by_state = {term.state: term for term in terms}
    active, coming = by_state.get(TermState.ACTIVE), by_state.get(TermState.NEXT)
    used_us = _continuous_use_us(use, now)
    step = _next_step(instance, used_us, now) if instance.billing_mode == TIERED else None
    return InstanceCost(cost, active, coming, present_rate(instance, active or coming, used_us), step)


def _continuous_use_us(use: tuple[int, datetime] | None, now: datetime) -> int:
    """Return the continuous use in microseconds, which a pause above CONTINUOUS_WITHIN resets to 0."""
    if use is None or now - use[1] > CONTINUOUS_WITHIN:
        return 0
    return use[0]


def _next_step(instance: Instance, used_us: int, now: datetime) -> NextStep | None:
    coming = [(hours, rate) for hours, rate in instance.tiers if hours * HOUR_US > used_us]
    if not coming or instance.state == InstanceState.GONE:
        return None
    hours, rate = coming[0]
    left_us = hours * HOUR_US - used_us
    runs = instance.state in (InstanceState.RUNNING, InstanceState.RESTARTING)
    at = now + timedelta(microseconds=left_us) if runs else None
    return NextStep(hours, rate, round(used_us / HOUR_US, 2), round(left_us / HOUR_US, 2), at)


def _terms(instances: Sequence[Instance]) -> dict[UUID, list[Term]]:
    """Return all terms by instance; one that never ran and is not reserved has none."""
    termed = [each.pk for each in instances if each.started_at is not None or each.billing_mode == RESERVED]
    found: dict[UUID, list[Term]] = {}
    for term in all_terms_of(termed) if termed else ():
        found.setdefault(term.instance_id, []).append(term)
    return found


def _used(ids: Sequence[UUID], now: datetime) -> dict[UUID, tuple[int, datetime]]:
    return continuous_use(source_kind=INSTANCE_SOURCE, source_ids=ids, now=now) if ids else {}


def _costs(instances: Sequence[Instance], terms: dict[UUID, list[Term]], now: datetime) -> dict[UUID, Cost]:
    metered = [each.pk for each in instances if each.started_at is not None or each.disk_micros_per_day]
    own = costs_of(source_kind=_OWN, source_ids=metered, now=now) if metered else {}
    of_term = {term.pk: term for each in terms.values() for term in each}
    reserved = costs_of(source_kind=TERM_SOURCE, source_ids=list(of_term), now=now) if of_term else {}
    parts = {key: [cost] for key, cost in own.items()}
    for key, cost in reserved.items():
        parts.setdefault(of_term[key].instance_id, []).append(_cost_of_term(of_term[key], cost))
    return {each.pk: _sum(parts.get(each.pk, ())) for each in instances}


def _cost_of_term(term: Term, cost: Cost) -> Cost:
    """Return the costs of a term.

    A prepaid term that runs costs its whole price; when it ends, what is returned lowers that.
    """
    running = term.state in (TermState.ACTIVE, TermState.NEXT)
    if term.payment == UPFRONT and running:
        return Cost(settled_micros=term.total_micros, seconds=cost.seconds)
    return replace(cost, settled_micros=cost.settled_micros + term.exit_fee_micros)


def _sum(parts: Iterable[Cost]) -> Cost:
    known = list(parts)
    if len(known) <= 1:
        return known[0] if known else Cost()
    nexts = [cost.next_charge_at for cost in known if cost.next_charge_at is not None]
    return Cost(
        settled_micros=sum(cost.settled_micros for cost in known),
        accrued_micros=sum(cost.accrued_micros for cost in known),
        seconds=sum(cost.seconds for cost in known),
        rate_micros_per_hour=sum(cost.rate_micros_per_hour for cost in known),
        next_charge_at=min(nexts, default=None),
        funded_until=min((cost.funded_until for cost in known if cost.funded_until is not None), default=None),
        credited_micros=sum(cost.credited_micros for cost in known),
    )
