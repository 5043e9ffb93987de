"""Serializers of earnings."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from rest_framework import serializers

from billing.payouts.earned_intervals import accrued_earnings
from billing.payouts.payable_balance import Payable
from billing.payouts.selectors import payable_of
from common.http.fields import DayText
from common.ids import public_id
from common.money import format_money
from instances.earnings.allocation import Sum
from instances.earnings.periods import Span, read_span
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


class SumOut(serializers.Serializer[Any]):
    """Sums, where net = gross − given_back − fee, exact to the micro-unit."""

    gross = serializers.CharField(help_text="Charged to renters")
    given_back = serializers.CharField(help_text="Of it returned to renters, since the host had failed")
    fee = serializers.CharField(help_text="The platform's, on what was kept")
    net = serializers.CharField(help_text="The host owner's")
    gpu_hours = serializers.FloatField()


class EarningOut(SumOut):
    """One row.

    What does not belong to the grouping is null; `gpu` and `instance` are also null for charges beside GPUs.
    """

    key = serializers.CharField(help_text="The day, the month's first day, or the id of what earned it")
    day = serializers.DateField(allow_null=True)
    gpu = serializers.CharField(allow_null=True)
    gpu_model = serializers.CharField(allow_null=True)
    instance = serializers.CharField(allow_null=True)
    offer = serializers.CharField(allow_null=True)
    host = serializers.CharField(allow_null=True)
    host_name = serializers.CharField(allow_null=True)


class HostEarningsOut(serializers.Serializer[Any]):
    """Earnings of a host, by the time at which they were posted."""

    currency = serializers.CharField()
    since = serializers.DateField()
    until = serializers.DateField()
    by = serializers.CharField()
    total = SumOut()
    results = EarningOut(many=True)


class EarningsOut(HostEarningsOut):
    """Earnings of all your hosts, and how much of the balance can be paid out."""

    balance = serializers.CharField(help_text="Of all earnings less payouts; negative after a refund that came too late")
    accrued = serializers.CharField(help_text="Proven, booked with the next full hour")
    maturing = serializers.CharField(help_text="Booked, and not matured yet")
    payable = serializers.CharField(help_text="Can be paid out now")


def earnings_shape(rows: Sequence[EarningRow], total: Sum, span: Span, by: str) -> dict[str, Any]:
    return {
        "currency": settings.MARKET_CURRENCY,
        "since": span.since,
        "until": span.until,
        "by": by,
        "total": _sum_shape(total),
        "results": [_row_shape(row) for row in rows],
    }


def standing_shape(payable: Payable, accrued_micros: int) -> dict[str, Any]:
    return {
        "balance": format_money(payable.balance_micros),
        "accrued": format_money(accrued_micros),
        "maturing": format_money(payable.waiting_micros),
        "payable": format_money(payable.payable_micros),
    }


def _sum_shape(found: Sum) -> dict[str, Any]:
    return {
        "gross": format_money(found.gross_micros),
        "given_back": format_money(found.given_back_micros),
        "fee": format_money(found.fee_micros),
        "net": format_money(found.net_micros),
        "gpu_hours": found.gpu_hours,
    }


def _row_shape(row: EarningRow) -> dict[str, Any]:
    return {
        "key": row.key,
        "day": row.day,
        "gpu": row.gpu_uuid or None,
        "gpu_model": row.gpu_model or None,
        "instance": public_id("inst", row.instance_id) if row.instance_id else None,
        "offer": public_id("offr", row.offer_id) if row.offer_id else None,
        "host": public_id("host", row.host_id) if row.host_id else None,
        "host_name": row.host_name or None,
        **_sum_shape(row.sum),
    }


def earnings_answer(
    owner_id: UUID, wanted: Mapping[str, Any], *, now: datetime, host_id: UUID | None = None
) -> dict[str, Any]:
    """Return the response body of earnings."""
    span = read_span(since=wanted.get("since"), until=wanted.get("until"), today=now.date())
    report = earnings_report(owner_id=owner_id, since=span.since, until=span.until, host_id=host_id)
    return earnings_shape(rows_by(report, wanted["by"]), report.total(), span, wanted["by"])


def standing_answer(owner_id: UUID, *, now: datetime) -> dict[str, Any]:
    return standing_shape(payable_of(owner_id=owner_id, now=now), accrued_earnings(owner_id=owner_id, now=now))
