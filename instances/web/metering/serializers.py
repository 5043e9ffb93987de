"""Requests and responses of an instance's billing and of changing it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from rest_framework import serializers

from billing.pricing.estimates import HOURLY, TIERED
from billing.statements.selectors import StatementLine
from common.http.fields import AmountText
from common.money import format_money, money_or_none
from common.resources import OneOf, resource
from instances.constants import CPU_RUN_MICROS_PER_HOUR
from instances.metering.costs import InstanceCost, NextStep
from instances.models import Instance, SpotBid, Term
from instances.retention.gpu_reservation import hold_fee
from instances.states import BidState, InstanceState
from marketplace.pricing.prices import TERM_HOURS

Text = serializers.CharField


class Expectations(serializers.Serializer[Any]):
    """What you believe the quote to say; the order is refused if it differs."""

    max_total = AmountText(required=False, allow_null=True, help_text="Fails if due_now or projected_total is higher")
    signature = Text(required=False, allow_null=True, max_length=128, help_text="The signature of the quote")


class ConvertIn(Expectations):
    """A change of the billing mode."""

    quote_id = Text(help_text="quot_…, made for this instance")
    auto_renew = serializers.BooleanField(
        default=False, help_text="For reserved terms: renew at the end, at the then-current price"
    )


class ExtendIn(Expectations):
    """A renewal in advance, the auto-renew setting, or both."""

    quote_id = Text(
        required=False, allow_null=True, help_text="quot_…: the renewal, which starts when the current term ends"
    )
    auto_renew = serializers.BooleanField(required=False, allow_null=True, default=None)


class StopIn(serializers.Serializer[Any]):
    """How to stop."""

    hold = serializers.BooleanField(
        default=False, help_text="Keep its GPUs at billing.hold_fee per hour; a reserved term keeps them anyway"
    )


@resource
class InstanceTerm:
    """A reserved term."""

    term: Annotated[str, OneOf(list(TERM_HOURS))]
    payment: Annotated[str, OneOf(["upfront", "none"])]
    hourly_rate: str
    total: Annotated[str, "For the whole term, used or not"]
    starts_at: Annotated[datetime | None, "null: it starts with the first run, or when the current term ends"]
    ends_at: datetime | None
    auto_renew: bool


@resource
class InstanceNextStep:
    """The next tier of a tiered instance."""

    from_hours: Annotated[int, "Of continuous use; a stop of more than 24 hours resets it to 0"]
    hourly_rate: str
    used_hours: float
    in_hours: float
    at: Annotated[datetime | None, "If it keeps running until then; null while stopped"]


@resource
class InstanceSpot:
    """The bid of a spot instance; prices per GPU-hour."""

    max_price: str
    price: Annotated[str | None, "Current spot price; null while it waits"]
    state: Annotated[str, OneOf(BidState.values)]
    notice_at: datetime | None
    yields_at: Annotated[datetime | None, "When its GPUs go to another renter; at least 120 s after the notice"]


class BidIn(serializers.Serializer[Any]):
    """The new max price."""

    max_price = AmountText(help_text="Per GPU-hour, at least the offer's floor price")


@resource
class InstanceBilling:
    """Billing of the instance."""

    mode: str
    hourly_rate: Annotated[str, "Current rate for its GPUs, or for running without GPUs"]
    cpu_hourly_rate: Annotated[str, "Hourly rate when started without GPUs (`start` with mode=cpu)"]
    disk_daily: Annotated[str, "For the data disk above the free allowance, running or stopped"]
    max_price: Annotated[str | None, "For spot instances: per GPU-hour"]
    spot: InstanceSpot | None
    term: InstanceTerm | None
    next_term: InstanceTerm | None
    next_step: InstanceNextStep | None
    keeps_gpus: Annotated[bool, "Stopped, keeping its GPUs"]
    hold_fee: Annotated[str | None, "Hourly fee for keeping its GPUs while stopped"]
    cost_so_far: Annotated[str, "A term paid upfront counts in full"]
    next_charge_at: datetime | None


def billing_resource(instance: Instance, bill: InstanceCost) -> InstanceBilling:
    kept = instance.state == InstanceState.STOPPED and instance.holds_gpus
    keepable = instance.billing_mode in (HOURLY, TIERED) and instance.state != InstanceState.GONE
    return InstanceBilling(
        mode=instance.billing_mode,
        hourly_rate=format_money(bill.rate_micros or instance.rate_micros_per_hour),
        cpu_hourly_rate=format_money(CPU_RUN_MICROS_PER_HOUR),
        disk_daily=format_money(instance.disk_micros_per_day),
        max_price=money_or_none(instance.spot_max_micros),
        spot=_spot(bill.bid),
        term=_term(bill.term or bill.coming, begun=bill.term is not None),
        next_term=_term(bill.coming if bill.term else None, begun=False),
        next_step=_next_step(bill.next_step),
        keeps_gpus=kept,
        hold_fee=format_money(_hold_fee(instance)) if keepable else None,
        cost_so_far=format_money(bill.cost.total_micros),
        next_charge_at=bill.cost.next_charge_at,
    )


def _spot(bid: SpotBid | None) -> InstanceSpot | None:
    """Return the bid, with prices per GPU and hour; a waiting bid pays nothing."""
    if bid is None:
        return None
    return InstanceSpot(
        max_price=format_money(bid.max_price_micros),
        price=money_or_none(bid.price_micros),
        state=bid.state,
        notice_at=bid.notice_at,
        yields_at=bid.yields_at,
    )


def _hold_fee(instance: Instance) -> int:
    """Return the hourly fee of keeping the GPUs: the agreed one while they are kept, else the present one."""
    kept = instance.state == InstanceState.STOPPED and instance.holds_gpus
    return instance.hold_micros_per_hour if kept else hold_fee(instance)


def _term(term: Term | None, *, begun: bool) -> InstanceTerm | None:
    if term is None:
        return None
    return InstanceTerm(
        term=term.term,
        payment=term.payment,
        hourly_rate=format_money(term.unit_micros * term.gpu_count),
        total=format_money(term.total_micros),
        starts_at=term.starts_at if begun else None,
        ends_at=term.ends_at if begun else None,
        auto_renew=term.auto_renew,
    )


def _next_step(step: NextStep | None) -> InstanceNextStep | None:
    if step is None:
        return None
    return InstanceNextStep(
        from_hours=step.from_hours,
        hourly_rate=format_money(step.rate_micros),
        used_hours=step.used_hours,
        in_hours=step.in_hours,
        at=step.at,
    )


@resource
class ChargeOut:
    """One charge."""

    at: datetime
    what: str
    source_kind: Annotated[str, "instance (its GPUs), disk, hold (GPUs kept while stopped) or term"]
    period_from: datetime | None
    period_to: datetime | None
    seconds: float | None
    hourly_rate: Annotated[str | None, "null if it is priced per day or paid upfront"]
    rate: str | None
    per: Annotated[str | None, "hour or day"]
    amount: str


@resource
class UsageOut(InstanceBilling):
    """Cost of the instance so far."""

    settled: str
    accrued: str
    given_back: str
    seconds: int
    lines: list[ChargeOut]


def usage_resource(instance: Instance, bill: InstanceCost, lines: Sequence[StatementLine]) -> UsageOut:
    """Return the costs of an instance: charges by the hour, and what has accrued since the last one."""
    cost = bill.cost
    return UsageOut(
        **vars(billing_resource(instance, bill)),
        settled=format_money(cost.settled_micros),
        accrued=format_money(cost.accrued_micros),
        given_back=format_money(cost.credited_micros),
        seconds=cost.seconds,
        lines=[_charge(line) for line in lines],
    )


def _charge(line: StatementLine) -> ChargeOut:
    return ChargeOut(
        at=line.at,
        what=line.what,
        source_kind=line.source_kind,
        period_from=line.period_from,
        period_to=line.period_to,
        seconds=line.seconds,
        hourly_rate=money_or_none(line.rate_micros_per_hour),
        rate=money_or_none(line.rate_micros),
        per=line.unit or None,
        amount=format_money(line.amount_micros),
    )
