"""Conditions and sort orders of a search, checked against the fields that a row has.

Clients send numbers as text. What can't be read is refused, since a lost condition would rent another machine.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from vast.errors import InvalidArgs
from vast.search.gpu_names import slugs_named
from vast.search.places import country_of
from vast.search.rows import UNKNOWN, driver_number
from vast.values import read_number

OPS: Final = ("eq", "neq", "gt", "gte", "lt", "lte", "in", "notin")
LISTS: Final = ("in", "notin", "nin")
_SHOWN: Final = 60
_TEXT_CHARS: Final = 100
_VALUES_AT_MOST: Final = 200  # in all lists of a search
_CONDITIONS_AT_MOST: Final = 40
_ORDERS_AT_MOST: Final = 5
NUMBERS: Final = frozenset(
    {
        *("num_gpus", "gpu_frac", "gpu_ram", "gpu_total_ram", "gpu_mem_bw", "bw_nvlink", "compute_cap", "total_flops"),
        *("dlperf", "dlperf_per_dphtotal", "flops_per_dphtotal", "score", "pci_gen", "pcie_bw", "gpu_lanes", "cpu_cores"),
        *("cpu_cores_effective", "cpu_ram", "disk_space", "disk_bw", "inet_up", "inet_down", "inet_up_cost"),
        *("inet_down_cost", "reliability", "reliability2", "duration", "end_date", "start_date", "cuda_max_good"),
        *("driver_vers", "direct_port_count", "hosting_type", "dph_base", "dph_total", "discounted_dph_total"),
        *("min_bid", "storage_cost", "storage_total_cost", "id", "machine_id", "host_id", "bundle_id"),
    }
)
FLAGS: Final = frozenset(
    {
        *("verified", "external", "rentable", "rented", "datacenter", "static_ip", "vms_enabled", "is_bid"),
        "gpu_display_active",
    }
)
TEXTS: Final = frozenset({"verification", "geolocation", "gpu_name", "driver_version", "cpu_name", "disk_name"})
_ALIASES: Final = {
    **{"cuda_vers": "cuda_max_good", "dph": "dph_total", "dlperf_usd": "dlperf_per_dphtotal"},
    **{"flops_usd": "flops_per_dphtotal", "display_active": "gpu_display_active", "ask_contract_id": "id"},
}
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Condition:
    """One condition on a field; `value` is a list for `in` and `notin`, and text values are compared in lower case."""

    field: str
    op: str
    value: Any

    def holds(self, row: Row) -> bool:
        """Return whether the row meets the condition; an unknown fact meets only `neq` and `notin`."""
        negative = self.op in ("neq", "notin")
        have = row.get(self.field)
        if have is None or self.field in UNKNOWN:
            return negative
        if self.op in ("gt", "gte", "lt", "lte"):
            return bool(_ORDERED[self.op](_comparable(self.field, have), self.value))
        either = any(_equal(self.field, row, value) for value in (self.value if self.op in LISTS else [self.value]))
        return either is not negative


_ORDERED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "gt": lambda have, value: have > value,
    "gte": lambda have, value: have >= value,
    "lt": lambda have, value: have < value,
    "lte": lambda have, value: have <= value,
}


def read_conditions(body: Mapping[str, Any], *, beside: frozenset[str]) -> list[Condition]:
    """Return the conditions of a search body, without the options named in `beside`.

    Raises:
        InvalidArgs: a field, an operator or a value is not one that Vast has.
    """
    found = []
    for name, condition in body.items():
        if name in beside:
            continue
        field = _field(name)
        if not isinstance(condition, Mapping) or not condition:
            _refuse(name, 'Send a condition such as {"eq": 1}.')
        found += [_condition(field, str(op), value) for op, value in condition.items()]
    if len(found) > _CONDITIONS_AT_MOST:
        raise InvalidArgs(f"Send at most {_CONDITIONS_AT_MOST} conditions.")
    if sum(len(each.value) for each in found if each.op in LISTS) > _VALUES_AT_MOST:
        raise InvalidArgs(f"Send at most {_VALUES_AT_MOST} values in lists.")
    return found


def read_order(order: object) -> list[tuple[str, bool]]:
    """Return the fields to sort by, each with whether it is descending.

    Raises:
        InvalidArgs: it is no list of pairs, or a field is unknown.
    """
    if order is None:
        return [("score", True)]
    if not isinstance(order, list) or len(order) > _ORDERS_AT_MOST:
        _refuse("order", 'Send a list such as [["dph_total", "asc"]].')
    found = []
    for each in order:
        if not isinstance(each, list) or len(each) != 2 or each[1] not in ("asc", "desc"):  # noqa: PLR2004  (a pair)
            _refuse("order", 'Send a list such as [["dph_total", "asc"]].')
        found.append((_field(str(each[0])), each[1] == "desc"))
    return found


def sort_rows(rows: list[Any], order: Sequence[tuple[str, bool]], row_of: Callable[[Any], Row]) -> None:
    """Sort in place; what a row does not have comes last."""
    for field, descending in reversed(order):
        known = [each for each in rows if row_of(each).get(field) is not None]
        unknown = [each for each in rows if row_of(each).get(field) is None]
        known.sort(key=lambda each: _sortable(row_of(each)[field]), reverse=descending)
        rows[:] = known + unknown


def _field(name: str) -> str:
    field = _ALIASES.get(name, name)
    if field not in NUMBERS | FLAGS | TEXTS and field not in UNKNOWN:
        _refuse(name, "There is no such field.")
    return field


def _condition(field: str, op: str, value: object) -> Condition:
    op = "notin" if op == "nin" else op
    if op not in OPS:
        _refuse(field, f"Use one of: {', '.join(OPS)}.")
    if op in LISTS:
        if not isinstance(value, list) or len(value) > _VALUES_AT_MOST:
            _refuse(field, f"Send a list of at most {_VALUES_AT_MOST} values.")
        return Condition(field, op, [_value(field, each) for each in value])
    if op in _ORDERED and field in (FLAGS | TEXTS) - {"driver_version"}:
        _refuse(field, "This field has no order: use eq, neq, in or notin.")
    if op in _ORDERED and value is None:
        _refuse(field, "Send a number.")
    return Condition(field, op, _value(field, value))


def _value(field: str, value: object) -> Any:
    if field in UNKNOWN or value is None:
        return value
    if field in NUMBERS:
        return read_number(field, value)
    if field in FLAGS:
        return _flag(field, value)
    if field == "driver_version":
        return driver_number(value) if isinstance(value, str) and "." in value else read_number(field, value)
    if not isinstance(value, str) or len(value) > _TEXT_CHARS:
        _refuse(field, f"Send a text of at most {_TEXT_CHARS} characters.")
    return value


def _flag(field: str, value: object) -> bool:
    word = str(value).lower()
    if word not in ("true", "false", "1", "0"):
        _refuse(field, "Send true or false.")
    return word in ("true", "1")


def _equal(field: str, row: Row, value: Any) -> bool:
    have = row[field]
    if value is None:
        return False
    if field == "gpu_name":
        return row["gpu_slug"] in slugs_named(value[:_SHOWN]) and _is_of_form(have, value)
    if field == "geolocation":
        return country_of(have) == country_of(value)
    if field == "driver_version":
        return bool(row["driver_vers"] == value)
    if field in TEXTS:
        return bool(str(have).lower() == value.lower())
    return bool(have == value)


def _is_of_form(name: str, value: str) -> bool:
    """Return whether a name that tells the form of an A100 tells that of this one."""
    words = {"sxm4", "pcie"} & set(value.lower().replace("_", " ").split())
    return not name.startswith("A100") or not words or name.lower().split()[-1] in words


def _comparable(field: str, have: Any) -> Any:
    return driver_number(have) if field == "driver_version" else have


def _sortable(value: Any) -> Any:
    return (0, value, "") if isinstance(value, (int, float)) else (1, 0, str(value))


def _refuse(field: str, detail: str) -> NoReturn:
    raise InvalidArgs(f"{field[:_SHOWN]}: {detail}")
