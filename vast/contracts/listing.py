"""Lists of instances: filtered, sorted and paged as clients of Vast ask for them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from accounts.models import User
from common import clock
from common.errors import NotFound
from instances.core.selectors import instance_of, instances_of
from instances.metering.costs import costs_of_instances
from vast.constants import PAGE_AT_MOST
from vast.contracts.rows import instance_rows
from vast.contracts.states import UNLISTED
from vast.errors import InvalidArgs
from vast.models import Kind
from vast.numbers.numbers import key_of
from vast.search.filters import Filters, holds, read_filters
from vast.values import read_json

Row = dict[str, Any]
_TOKEN_DIGITS: Final = 16
_COLUMNS_AT_MOST: Final = 100


@dataclass(frozen=True)
class ListQuery:
    """Which rows, in which order; `after` is the number of rows before the page."""

    filters: Filters
    order: Sequence[tuple[str, bool]]
    columns: Sequence[str]
    limit: int
    after: int


def read_list_query(params: Mapping[str, str]) -> ListQuery:
    """Read the parameters of a list, which are JSON; `null` is the same as left out.

    Raises:
        InvalidArgs: one of them can't be read.
    """
    order = [_sort_key(each) for each in _json(params, "order_by", list) or [{"col": "id", "dir": "asc"}]]
    columns = _json(params, "select_cols", list) or []
    limit, after = params.get("limit", "null"), params.get("after_token", "null")
    return ListQuery(
        filters=read_filters(params.get("select_filters")),
        order=order[:_COLUMNS_AT_MOST],
        columns=[] if "*" in columns else [str(each) for each in columns[:_COLUMNS_AT_MOST]],
        limit=PAGE_AT_MOST if limit in ("null", "") else _whole("limit", limit, least=1),
        after=0 if after in ("null", "") else _whole("after_token", after.strip('"'), least=0),
    )


def all_rows(renter: User, *, opens: bool) -> list[Row]:
    """Return every instance of the renter that Vast would list, oldest first."""
    now = clock.now()
    own = list(instances_of(renter).exclude(state__in=UNLISTED).order_by("created_at", "pk"))
    return instance_rows(own, costs_of_instances(own, now), now, opens=opens)


def row_page(renter: User, query: ListQuery, *, opens: bool) -> dict[str, Any]:
    """Return one page, with the counts that the client shows above it."""
    rows = all_rows(renter, opens=opens)
    found = [row for row in rows if holds(row, query.filters)]
    for name, descending in reversed(query.order):
        found.sort(key=lambda row: _sortable(row.get(name)), reverse=descending)
    limit = min(query.limit, PAGE_AT_MOST)
    page, end = found[query.after : query.after + limit], query.after + limit
    return {
        "success": True,
        "instances": [_cut(row, query.columns) for row in page],
        "instances_found": len(found),
        "total_instances": len(found),
        "label_counts": dict(Counter(row["label"] for row in found)),
        "next_token": str(end) if end < len(found) else None,
    }


def one_row(renter: User, number: int, *, opens: bool) -> Row | None:
    """Return one instance, or None where there is none of the renter's."""
    now = clock.now()
    try:
        instance = instance_of(renter, key_of(Kind.INSTANCE, number))
    except NotFound:
        return None
    if instance.state in UNLISTED:
        return None
    return instance_rows([instance], costs_of_instances([instance], now), now, opens=opens)[0]


def filter_values(renter: User) -> list[dict[str, str]]:
    """Return the values that the renter's instances can be filtered by, each combination once."""
    names = ("actual_status", "verification", "gpu_name")
    found = {tuple(str(row[name]) for name in names) for row in all_rows(renter, opens=False)}
    return [dict(zip(names, values, strict=True)) for values in sorted(found)]


def _cut(row: Row, columns: Sequence[str]) -> Row:
    return {name: row[name] for name in columns if name in row} if columns else row


def _sort_key(each: Any) -> tuple[str, bool]:
    if not isinstance(each, dict) or not isinstance(each.get("col"), str):
        _refuse("order_by", 'Send a list such as [{"col": "id", "dir": "asc"}].')
    return each["col"], each.get("dir") == "desc"


def _sortable(value: Any) -> tuple[int, float, str]:
    if value is None:
        return 2, 0.0, ""
    return (0, float(value), "") if isinstance(value, (int, float)) else (1, 0.0, str(value))


def _json(params: Mapping[str, str], name: str, kind: type) -> Any:
    value = read_json(params.get(name))
    if value is not None and not isinstance(value, kind):
        _refuse(name, "Send JSON.")
    return value


def _whole(name: str, text: str, *, least: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _TOKEN_DIGITS and int(text) >= least):
        _refuse(name, f"Send a whole number of {least} or more.")
    return int(text)


def _refuse(name: str, detail: str) -> NoReturn:
    raise InvalidArgs(f"{name}: {detail}")
