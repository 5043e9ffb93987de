"""Options of a search besides its conditions, its canonical form, and the combination of two searches."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Final

from django.utils.translation import gettext as _

from marketplace.constants import DATA_DISK_GB_MAX, MAX_GPUS_PER_HOST
from marketplace.pricing.prices import TERM_HOURS
from marketplace.search.language.field_names import did_you_mean, quoted_input
from marketplace.search.language.fields import BILLING_MODES, SORTS, TERMS, Condition, OfferQuery, Op, Scalar
from marketplace.search.language.values import BadValue, read_choice, read_number, write_value

CONDITIONS_MAX: Final = 30
LIST_MAX: Final = 50

_IMAGE: Final = re.compile(r"[A-Za-z0-9_-]{1,60}")
_TERM_PLACES: Final = {name: place for place, name in enumerate(TERMS)}
_OP_PLACES: Final = {op: place for place, op in enumerate(Op)}
_LISTS: Final = {Op.IN: Op.EQ, Op.NOT_IN: Op.NE}  # a list of one value is the value
SORT_NAMES: Final = tuple(sign + name for name in SORTS for sign in ("", "-"))


@dataclass(frozen=True)
class SearchOption:
    """Option of a query, which is set rather than compared: its name, API parameter, and allowed values."""

    name: str
    parameter: str
    field: str
    read: Callable[[str], Any]
    about: str
    unit: str = ""
    choices: Sequence[str] = ()


@dataclass
class ParsedSearch:
    """What a reader has found so far; options by field."""

    conditions: list[Condition] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)


def _count(text: str) -> int:
    return _whole("count", text, lowest=1, highest=MAX_GPUS_PER_HOST)


def _data_disk(text: str) -> int:
    return _whole("data_disk", text, lowest=0, highest=DATA_DISK_GB_MAX)


def _whole(name: str, text: str, *, lowest: int, highest: int) -> int:
    value = read_number(name, text.strip())
    if value != int(value) or not lowest <= value <= highest:
        hint = _("Enter a whole number from %(lowest)s to %(highest)s.") % {"lowest": lowest, "highest": highest}
        raise BadValue(_("%(text)s is out of range.") % {"text": quoted_input(text)}, hint=hint)
    return int(value)


def _image(text: str) -> str:
    if not _IMAGE.fullmatch(text):
        detail = _("%(text)s isn't an image.") % {"text": quoted_input(text)}
        raise BadValue(detail, hint=_("Enter an image's slug or ID; GET /images lists them."))
    return text


def _sort(text: str) -> str:
    """Return the sort order in a text; signs matter here, so the comparison is exact."""
    if text not in SORT_NAMES:
        detail = _("%(text)s isn't a sort order.") % {"text": quoted_input(text)}
        raise BadValue(detail, hint=did_you_mean(text, SORT_NAMES), choices=SORT_NAMES)
    return text


def _one_of(choices: Sequence[str]) -> Callable[[str], str]:
    return lambda text: read_choice(text, choices)


OPTIONS: Final[Mapping[str, SearchOption]] = {
    option.name: option
    for option in (
        SearchOption("count", "gpu_count", "gpu_count", _count, "Number of GPUs together; total prices are for all of them"),
        SearchOption(
            *("mode", "billing_mode", "billing_mode", _one_of(BILLING_MODES), "Billing mode used for prices"),
            choices=BILLING_MODES,
        ),
        SearchOption(
            *("term", "term", "term", _one_of(tuple(TERM_HOURS)), "Term of reserved prices"),
            choices=tuple(TERM_HOURS),
        ),
        SearchOption(
            *(
                "data_disk",
                "data_disk_gb",
                "data_disk_gb",
                _data_disk,
                "Size of the data disk; the host must have space for it, and every price includes it",
            ),
            unit="GB",
        ),
        SearchOption("image", "image", "image", _image, "Image, by slug or ID; hosts that can't run it are excluded"),
        SearchOption(
            "sort", "sort", "sort", _sort, 'Sort order of the offers; prefix "-" for descending', choices=SORT_NAMES
        ),
    )
}
DEFAULTS: Final = OfferQuery()
# Operators by which an option may be set: to want two GPUs together and to want at least two is the same.
COUNT_SIGNS: Final = frozenset({Op.EQ, Op.GE, Op.GT})


def count_option(op: Op, text: str) -> int:
    """Return the count in `count=2`, `count>=2` or `count>1`."""
    return (
        _count(text) if op is not Op.GT else _count(str(_whole("count", text, lowest=0, highest=MAX_GPUS_PER_HOST - 1) + 1))
    )


def condition(name: str, op: Op, values: Iterable[Scalar]) -> Condition:
    """Return a condition in canonical form.

    A list is sorted and without duplicates; a list of one becomes the value itself.
    """
    if op not in _LISTS:
        [value] = values
        return _plain(name, op, value)
    several = tuple(sorted(set(values), key=_value_order))
    # `count=2` would be read as the option, so a list with one count stays a list.
    if len(several) == 1 and not (name == "count" and op is Op.IN):
        return _plain(name, _LISTS[op], several[0])
    return Condition(name, op, several)


def _plain(name: str, op: Op, value: Scalar) -> Condition:
    """Return a condition on one value; a flag is never unknown, so not to be true is to be false."""
    if isinstance(value, bool) and op is Op.NE:
        return Condition(name, Op.EQ, not value)
    return Condition(name, op, value)


def in_order(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return each condition once, in the order of the terms, so that equal searches are equal values."""
    return tuple(sorted(dict.fromkeys(conditions), key=_condition_order))


def to_query(found: ParsedSearch) -> OfferQuery:
    return replace(DEFAULTS, conditions=in_order(found.conditions), **found.options)


def stated_options(query: OfferQuery) -> dict[str, Any]:
    """Return options that differ from their defaults, by name in a line."""
    stated = {name: getattr(query, option.field) for name, option in OPTIONS.items()}
    return {name: value for name, value in stated.items() if value != getattr(DEFAULTS, OPTIONS[name].field)}


def _condition_order(one: Condition) -> tuple[int, int, list[tuple[Decimal, str]]]:
    values = one.value if isinstance(one.value, tuple) else (one.value,)
    return _TERM_PLACES[one.term], _OP_PLACES[one.op], [_value_order(value) for value in values]


def _value_order(value: Scalar) -> tuple[Decimal, str]:
    return (Decimal(0) if isinstance(value, str) else Decimal(value)), write_value(value)
