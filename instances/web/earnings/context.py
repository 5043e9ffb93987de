"""Template context of earnings, and their table for spreadsheets."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from billing.constants import PAYOUT_HOLDING, PLATFORM_FEE_BPS
from billing.payouts.earned_intervals import accrued_earnings
from billing.payouts.selectors import payable_of
from common.money import format_money
from common.spreadsheets import escape_formula
from instances.earnings.periods import Period, last_month, last_year, this_month
from instances.earnings.report import earnings_report
from instances.web.earnings.chart import chart_of
from instances.web.earnings.rows import EarningRow, rows_by

_BPS_PER_PERCENT: Final = 100
_GIVEN_BACK_SHOWN: Final = 20
GROUPING_LABELS: Final = {
    "gpu": _("GPU"),
    "instance": _("Instance"),
    "offer": _("Offer"),
    "host": _("Host"),
    "day": _("Day"),
    "month": _("Month"),
}
_COLUMNS: Final = ("gross", "given_back", "fee", "net", "gpu_hours")


def earnings_context(owner_id: UUID, span: Period, by: str, *, now: datetime) -> dict[str, Any]:
    report = earnings_report(owner_id=owner_id, since=span.since, until=span.until)
    today = now.date()
    return {
        "span": span,
        "by": by,
        "groupings": [(name, words, name == by) for name, words in GROUPING_LABELS.items()],
        "spans": [(_("This month"), this_month(today)), (_("Last month"), last_month(today)), (_("Year"), last_year(today))],
        "total": report.total(),
        "chart": chart_of(report.by_day(), since=span.since, until=span.until),
        "rows": rows_by(report, by),
        "given_back": report.given_back()[:_GIVEN_BACK_SHOWN],
        "payable": payable_of(owner_id=owner_id, now=now),
        "accrued_micros": accrued_earnings(owner_id=owner_id, now=now),
        "holding_days": PAYOUT_HOLDING.days,
        "fee_percent": PLATFORM_FEE_BPS / _BPS_PER_PERCENT,
    }


def earnings_table(owner_id: UUID, span: Period, by: str) -> Iterator[Sequence[str]]:
    """Yield the rows of a spreadsheet, the header first."""
    report = earnings_report(owner_id=owner_id, since=span.since, until=span.until)
    yield (by, "gpu_model", "host", *_COLUMNS)
    for row in rows_by(report, by):
        yield (row.key, row.gpu_model, escape_formula(row.host_name), *_figures(row))


def _figures(row: EarningRow) -> tuple[str, ...]:
    found = row.sum
    amounts = (found.gross_micros, found.given_back_micros, found.fee_micros, found.net_micros)
    return (*(format_money(micros) for micros in amounts), f"{found.gpu_hours:.2f}")
