"""Search of offers: each open offer in slices of one, two, four … GPUs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from common import clock
from marketplace.search.language.fields import Condition as MarketCondition
from marketplace.search.language.fields import OfferQuery, Op
from marketplace.search.selectors import search_offers
from vast.asks.asks import HOURLY, SPOT, asks_of, slices_of
from vast.constants import GB_AT_MOST, OFFERS_READ
from vast.errors import InvalidArgs
from vast.models import Kind
from vast.numbers.numbers import numbers_of
from vast.search.conditions import Condition, read_conditions, read_order, sort_rows
from vast.search.gpu_names import slugs_named
from vast.search.rows import Shown, shown_slice
from vast.values import read_limit, read_number

_MODES: Final = {
    **{"on-demand": HOURLY, "ondemand": HOURLY, "reserved": HOURLY},
    **{"bid": SPOT, "interruptible": SPOT},
}
# Options beside the conditions; the last ones change nothing here.
_OPTIONS: Final = frozenset({"order", "type", "limit", "allocated_storage", "disable_bundling", "resource_type"})
_HOST_FIELDS: Final = {"machine_id": Kind.HOST, "bundle_id": Kind.HOST, "host_id": Kind.USER}
_STORAGE_BY_DEFAULT: Final = 5.0


@dataclass(frozen=True)
class Search:
    """A search as a client sent it, checked."""

    conditions: Sequence[Condition]
    order: Sequence[tuple[str, bool]]
    mode: str
    limit: int
    storage_gb: float


def read_search(body: object) -> Search:
    """Check the body of a search.

    Raises:
        InvalidArgs: something in it can't be read, or is not of Vast.
    """
    if not isinstance(body, Mapping):
        raise InvalidArgs("Send an object of conditions.")
    kind = body.get("type") or "on-demand"
    if not isinstance(kind, str) or kind not in _MODES:
        raise InvalidArgs("type: Use on-demand, bid or reserved.")
    storage = body.get("allocated_storage")
    gb = _STORAGE_BY_DEFAULT if storage is None else read_number("allocated_storage", storage)
    if not 0 <= gb <= GB_AT_MOST:
        raise InvalidArgs(f"allocated_storage: Send 0 to {GB_AT_MOST} GB.")
    return Search(
        conditions=read_conditions(body, beside=_OPTIONS),
        order=read_order(body.get("order")),
        mode=_MODES[kind],
        limit=read_limit(body.get("limit")),
        storage_gb=gb,
    )


def find_offers(search: Search) -> list[dict[str, Any]]:
    """Return the rows of a search, each with the number of its ask."""
    found = [each for each in _with_host_numbers(_slices(search), search) if _fits(each, search)]
    sort_rows(found, search.order, lambda each: each.row)
    return _numbered(found[: search.limit])


def _slices(search: Search) -> list[Shown]:
    now, wanted = clock.now(), _asked_slices(search)
    rows: list[Shown] = []
    for offer in _offers(search):
        if search.mode == SPOT and offer["spot_floor_micros"] is None:
            continue
        for count in _counts(offer["gpu_free"] + offer["gpu_spot"], search):
            if wanted is None or (offer["id"], count) in wanted:
                rows.append(shown_slice(offer, gpu_count=count, mode=search.mode, storage_gb=search.storage_gb, now=now))
    return rows


def _offers(search: Search) -> Iterable[Mapping[str, Any]]:
    conditions = []
    for each in search.conditions:
        if each.field == "gpu_name" and each.op in ("eq", "in"):
            names = each.value if each.op == "in" else [each.value]
            slugs = sorted({slug for name in names if name for slug in slugs_named(name)})
            if not slugs:
                return []
            conditions.append(MarketCondition("gpu", Op.IN, tuple(slugs)))
        elif each.field == "verified" and each.op == "eq" and each.value is not None:
            conditions.append(MarketCondition("verified", Op.EQ, each.value))
    mode = "spot" if search.mode == SPOT else "hourly"
    return search_offers(OfferQuery(conditions=tuple(conditions), billing_mode=mode, limit=OFFERS_READ)).offers


def _counts(free: int, search: Search) -> list[int]:
    """Return the sizes of slices: powers of two, all that is free, and those that the search names."""
    powers = [2**power for power in range(free.bit_length()) if 2**power <= free]
    named = [
        int(value)
        for each in search.conditions
        if each.field == "num_gpus" and each.op in ("eq", "in")
        for value in (each.value if each.op == "in" else [each.value])
        if value is not None and value == int(value) and 1 <= value <= free
    ]
    return sorted({*powers, free, *named} - {0})


def _asked_slices(search: Search) -> set[tuple[Any, int]] | None:
    """Return the slices of the asks that the search names, or None where it names none."""
    named = [each for each in search.conditions if each.field == "id" and each.op in ("eq", "in")]
    if not named:
        return None
    sets = [slices_of(_whole(each)) for each in named]
    return set.intersection(*sets)


def _fits(shown: Shown, search: Search) -> bool:
    named = ("eq", "in")
    return all(each.holds(shown.row) for each in search.conditions if each.field != "id" or each.op not in named)


def _with_host_numbers(rows: list[Shown], search: Search) -> list[Shown]:
    """Add the numbers of hosts and owners where the search asks about them."""
    fields = {each.field for each in search.conditions} | {field for field, _ in search.order}
    if fields & {*_HOST_FIELDS, "id"}:
        _numbered(rows)
    return rows


def _numbered(rows: list[Shown]) -> list[dict[str, Any]]:
    asks = asks_of(each.slice for each in rows)
    hosts = numbers_of(Kind.HOST, {each.host_id for each in rows})
    owners = numbers_of(Kind.USER, {each.owner_id for each in rows})
    for each in rows:
        number, host = asks[each.slice], hosts[each.host_id]
        each.row.update(id=number, ask_contract_id=number, machine_id=host, bundle_id=host, host_id=owners[each.owner_id])
    return [each.row for each in rows]


def _whole(condition: Condition) -> list[int]:
    values = condition.value if condition.op == "in" else [condition.value]
    return [int(value) for value in values if value is not None and value == int(value)]
