"""The statement as clients of Vast read it: charges and payments, with amounts as numbers."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from accounts.models import User
from billing.constants import INSTANCE_SOURCE
from billing.standing.selectors import wallet_now
from billing.statements.selectors import ENTRY_KINDS, StatementLine, statement_lines
from common import clock
from vast.constants import STATEMENT_AT_MOST
from vast.errors import InvalidArgs
from vast.models import Kind
from vast.numbers.numbers import numbers_of
from vast.search.rows import dollars
from vast.values import read_json, read_moment, read_number

_CHARGES: Final = ("charge", "prepaid", "exit_fee")
_PAYMENTS: Final = tuple(kind for kind in ENTRY_KINDS if kind not in _CHARGES)
_PAGE: Final = 100


def invoices(user: User, params: Mapping[str, str]) -> dict[str, Any]:
    """Return charges and payments within `sdate` and `edate` (seconds since 1970), newest first."""
    since, until = _moment(params, "sdate"), _moment(params, "edate")
    kinds = _PAYMENTS if params.get("inc_charges") == "false" else None
    lines = statement_lines(owner_id=user.pk, since=since, until=until, entry_kind=kinds, limit=STATEMENT_AT_MOST)
    wallet = wallet_now(owner_id=user.pk, now=clock.now())
    current = {"charges": dollars(wallet.accrued_micros), "credit": dollars(wallet.live_micros), "total": 0.0}
    return {"invoices": _rows(lines), "current": current}


def charge_page(user: User, params: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of charges by day, newest first."""
    return _page(user, params, "day", kinds=_CHARGES)


def invoice_page(user: User, params: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of payments and credits, newest first."""
    return _page(user, params, "when", kinds=_PAYMENTS)


def _page(user: User, params: Mapping[str, str], column: str, *, kinds: Sequence[str]) -> dict[str, Any]:
    """Return a page of entries of these kinds; `total` is how many there are from it on, up to STATEMENT_AT_MOST."""
    since, until = _range(params.get("select_filters"), column)
    limit = max(1, min(int(read_number("limit", params.get("limit") or _PAGE)), _PAGE))
    after = params.get("after_token") or ""
    cursor = "" if after == "null" else after.strip('"')
    lines = statement_lines(
        owner_id=user.pk, since=since, until=until, entry_kind=kinds, limit=STATEMENT_AT_MOST, cursor=cursor
    )
    page = lines[:limit]
    return {
        "results": [_result(line, row) for line, row in zip(page, _rows(page), strict=True)],
        "count": len(page),
        "total": len(lines),
        "next_token": page[-1].id if len(lines) > limit else None,
    }


def _rows(lines: Sequence[StatementLine]) -> list[dict[str, Any]]:
    numbers = numbers_of(Kind.INSTANCE, {line.source_id for line in lines if line.source_kind == INSTANCE_SOURCE})
    return [
        {
            "id": line.id,
            "type": "charge" if line.kind in _CHARGES else "payment",
            "description": line.what or line.kind,
            "amount": dollars(-line.amount_micros if line.kind in _CHARGES else line.amount_micros),
            "quantity": round((line.seconds or 0.0) / 3600 / line.hours, 6),
            "rate": dollars(line.rate_micros) if line.rate_micros is not None else None,
            "timestamp": line.at.timestamp(),
            "instance_id": numbers.get(line.source_id),
            "is_credit": line.kind not in _CHARGES,
        }
        for line in lines
    ]


def _result(line: StatementLine, row: Mapping[str, Any]) -> dict[str, Any]:
    began, ended = line.period_from or line.at, line.period_to or line.at
    source = f"instance-{row['instance_id']}" if row["instance_id"] else line.source_kind or "account"
    return {
        "start": began.timestamp(),
        "end": ended.timestamp(),
        "type": "instance" if row["instance_id"] else line.kind,
        "source": source,
        "description": row["description"],
        "amount": row["amount"],
        "metadata": {"invoice_id": row["id"], "instance_id": row["instance_id"]},
        "items": [],
    }


def _range(text: str | None, column: str) -> tuple[datetime | None, datetime | None]:
    filters = read_json(text)
    if filters is None:
        return None, None
    limits = filters.get(column, {}) if isinstance(filters, dict) else None
    if not isinstance(limits, dict):
        raise InvalidArgs(f'select_filters: Send an object such as {{"{column}": {{"gte": 0, "lte": 1}}}}.')
    bounds = {name: str(limits[name]) for name in ("gte", "lte") if limits.get(name) is not None}
    return _moment(bounds, "gte"), _moment(bounds, "lte")


def _moment(params: Mapping[str, str], name: str) -> datetime | None:
    text = params.get(name)
    if text in (None, "", "null"):
        return None
    return read_moment(name, text)
