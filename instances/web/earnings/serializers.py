"""Serializers of earnings."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any
from uuid import UUID

from django.conf import settings
from rest_framework import serializers

from billing.payouts.earned_intervals import accrued_earnings
from billing.payouts.selectors import payable_of
from common.http.fields import DayText
from common.ids import public_id
from common.money import format_money
from common.resources import resource
from instances.earnings.allocation import EarningsSum
from instances.earnings.periods import parse_period
from instances.earnings.report import earnings_report
from instances.web.earnings.rows import EarningRow, rows_by

_HOST_GROUPINGS = ("day", "month", "gpu", "instance", "offer")
_OWNER_GROUPINGS = (*_HOST_GROUPINGS, "host")


class HostEarningsIn(serializers.Serializer[Any]):
    """Both days are included, in UTC.

    The default is the last 30 days; at most 400 days.
    """

    since = DayText(required=False)
    until = DayText(required=False)
    by = serializers.ChoiceField(choices=_HOST_GROUPINGS, default="day")


class EarningsIn(HostEarningsIn):
    """The period and grouping of all your hosts' earnings."""

    by = serializers.ChoiceField(choices=_OWNER_GROUPINGS, default="day")


@resource
class SumOut:
    """Totals, where net = gross − given_back − fee, exact to the micro-unit."""

    gross: Annotated[str, "Charged to renters"]
    given_back: Annotated[str, "Refunded to renters because of host failures"]
    fee: Annotated[str, "Platform fee on the remaining amount"]
    net: Annotated[str, "The host owner's share"]
    gpu_hours: float


@resource
class EarningSource:
    """What earned the sums of a row."""

    key: Annotated[str, "The day, the first day of the month, or the id of what earned it"]
    day: date | None
    gpu: str | None
    gpu_model: str | None
    instance: str | None
    offer: str | None
    host: str | None
    host_name: str | None


@resource
class EarningOut(SumOut, EarningSource):
    """One row.

    Fields outside the grouping are null; `gpu` and `instance` are also null for charges other than GPUs.
    """


@resource
class HostEarningsOut:
    """Earnings of a host, by the time at which they were posted."""

    currency: str
    since: date
    until: date
    by: str
    total: SumOut
    results: list[EarningOut]


@resource
class EarningsOut(HostEarningsOut):
    """Earnings of all your hosts, and how much of the balance can be paid out."""

    balance: Annotated[str, "All earnings minus payouts; negative after a refund that followed a payout"]
    accrued: Annotated[str, "Confirmed, booked at the next full hour"]
    maturing: Annotated[str, "Booked, pending"]
    payable: Annotated[str, "Can be paid out now"]


def host_earnings(
    owner_id: UUID, wanted: Mapping[str, Any], *, now: datetime, host_id: UUID | None = None
) -> HostEarningsOut:
    """Return the earnings of a host, or of all hosts."""
    span = parse_period(since=wanted.get("since"), until=wanted.get("until"), today=now.date())
    report = earnings_report(owner_id=owner_id, since=span.since, until=span.until, host_id=host_id)
    return HostEarningsOut(
        currency=settings.MARKET_CURRENCY,
        since=span.since,
        until=span.until,
        by=wanted["by"],
        total=_sum(report.total()),
        results=[_row(row) for row in rows_by(report, wanted["by"])],
    )


def all_earnings(owner_id: UUID, wanted: Mapping[str, Any], *, now: datetime) -> EarningsOut:
    """Return the earnings of all hosts, and the balance."""
    payable = payable_of(owner_id=owner_id, now=now)
    return EarningsOut(
        **vars(host_earnings(owner_id, wanted, now=now)),
        balance=format_money(payable.balance_micros),
        accrued=format_money(accrued_earnings(owner_id=owner_id, now=now)),
        maturing=format_money(payable.waiting_micros),
        payable=format_money(payable.payable_micros),
    )


def _sum(found: EarningsSum) -> SumOut:
    return SumOut(
        gross=format_money(found.gross_micros),
        given_back=format_money(found.given_back_micros),
        fee=format_money(found.fee_micros),
        net=format_money(found.net_micros),
        gpu_hours=found.gpu_hours,
    )


def _row(row: EarningRow) -> EarningOut:
    return EarningOut(
        key=row.key,
        day=row.day,
        gpu=row.gpu_uuid or None,
        gpu_model=row.gpu_model or None,
        instance=public_id("inst", row.instance_id) if row.instance_id else None,
        offer=public_id("offr", row.offer_id) if row.offer_id else None,
        host=public_id("host", row.host_id) if row.host_id else None,
        host_name=row.host_name or None,
        **vars(_sum(row.sum)),
    )
