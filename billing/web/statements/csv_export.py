"""Statement as CSV, streamed page by page."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.http import StreamingHttpResponse

from billing.invoices.lines import number_of_seconds
from billing.statements.selectors import StatementLine, statement_lines
from billing.web.source_ids import source_public_id
from common import clock
from common.money import format_money
from common.spreadsheets import csv_lines, escape_formula

_PAGE = 1_000
_MICROSECOND: Final = timedelta(microseconds=1)
_COLUMNS: Final = (
    "line",
    "booked_at",
    "kind",
    "what",
    "source",
    "billing_mode",
    "period_from",
    "period_to",
    "seconds",
    "rate",
    "rate_hours",
    "amount",
    "balance_after",
)


def csv_reply(owner_id: UUID, **asked: Any) -> StreamingHttpResponse:
    """Return all matching lines (see `statement_lines`) as CSV, newest first."""
    reply = StreamingHttpResponse(csv_lines(_COLUMNS, _rows(owner_id, asked)), content_type="text/csv; charset=utf-8")
    reply["Content-Disposition"] = f'attachment; filename="statement-{clock.now():%Y-%m-%d}.csv"'
    return reply


def _rows(owner_id: UUID, filters: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    cursor, more = "", True
    while more:
        lines = statement_lines(owner_id=owner_id, limit=_PAGE, cursor=cursor, **filters)
        yield from map(_cells, lines)
        more = len(lines) == _PAGE
        cursor = lines[-1].id if lines else ""


def _cells(line: StatementLine) -> tuple[str, ...]:
    begin, end = line.period_from, line.period_to
    return (
        line.id,
        line.at.isoformat(),
        line.kind,
        escape_formula(line.what),
        escape_formula(source_public_id(line.source_kind, line.source_id)),
        line.mode,
        begin.isoformat() if begin else "",
        end.isoformat() if end else "",
        number_of_seconds((end - begin) // _MICROSECOND) if begin and end else "",
        "" if line.rate_micros is None else format_money(line.rate_micros),
        "" if line.rate_micros is None else str(line.hours),
        format_money(line.amount_micros),
        format_money(line.balance_after_micros),
    )
