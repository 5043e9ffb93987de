"""Searches as URL parameters: filters, typed operators such as `price__lt`, and a line in `q`."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.translation import gettext as _

from common.errors import FieldError, InvalidInput, NotFound
from marketplace.constants import PAGE_SIZE_MAX
from marketplace.pricing.offer_requirements import ImageNeeds
from marketplace.search.language.field_names import did_you_mean, quoted_input
from marketplace.search.language.fields import PARAMETERS, SUFFIX, TERMS, Condition, OfferQuery, Op
from marketplace.search.language.options import (
    CONDITIONS_MAX,
    COUNT_SIGNS,
    DEFAULTS,
    LIST_MAX,
    OPTIONS,
    ParsedSearch,
    condition,
    count_option,
    stated_options,
    to_query,
)
from marketplace.search.language.parser import find_in_line, write_condition
from marketplace.search.language.values import BadValue, read_value, write_value

VALUES_MAX: Final = 200
_CURSOR_CHARS_MAX: Final = 200
_FAULTS_SHOWN: Final = 5  # each costs a comparison with every name
_NAME_CHARS: Final = 40
_VALUE_CHARS: Final = 2_500  # a list of regions
_LISTS: Final = (Op.IN, Op.NOT_IN)
# These parameters, given twice, mean one of the values; every other condition that is given twice must hold twice.
_JOINED: Final = (Op.EQ, Op.IN)


@dataclass(frozen=True)
class Compared:
    """Parameter that compares a term.

    A `listed` value is split at its commas; an alias is repeated instead.
    """

    name: str
    term: str
    op: Op
    listed: bool = False


def _compared() -> dict[str, Compared]:
    suffixes = {op: f"__{suffix}" if suffix else "" for suffix, op in SUFFIX.items()}
    named = {
        name + suffixes[op]: Compared(name + suffixes[op], name, op, listed=op in _LISTS)
        for name, term in TERMS.items()
        for op in Op
        if op in term.ops
    }
    return named | {name: Compared(name, term, op) for name, (term, op) in PARAMETERS.items()}


COMPARED: Final[Mapping[str, Compared]] = _compared()
_OPTION_OF_PARAMETER: Final = {option.parameter: option for option in OPTIONS.values()}
PAGING: Final = ("limit", "cursor")
_ADDRESS_KEPT_CHARS: Final = 500
NAMES: Final = (*_OPTION_OF_PARAMETER, *COMPARED, *PAGING, "q")
_ALIASES: Final = {(COMPARED[name].term, COMPARED[name].op): COMPARED[name] for name in PARAMETERS}
_WRITTEN: Final = {(each.term, each.op): each for each in COMPARED.values()} | _ALIASES


def parse_params(params: QueryDict, *, image_needs: Callable[[str], ImageNeeds], others: Collection[str] = ()) -> OfferQuery:
    """Return the search in the parameters: every parameter and every part of `q` must hold.

    `image_needs` returns the requirements of an image. Parameters named in `others` are not part of the search.

    Raises:
        InvalidInput: a parameter is wrong.
        SearchSyntaxError: the line in `q` cannot be parsed.
    """
    return with_image_needs(_search(params, NAMES, others), image_needs)


def parse_query_string(address: str, *, image_needs: Callable[[str], ImageNeeds]) -> OfferQuery:
    """Return `parse_params` of a query string, cached.

    Many requests are equal, and parsing costs more than finding the offers.
    """
    query = _known_address(address) if len(address) <= _ADDRESS_KEPT_CHARS else _search(QueryDict(address), NAMES)
    return with_image_needs(query, image_needs)


def parse_options(params: QueryDict, *, names: Collection[str], others: Collection[str] = ()) -> OfferQuery:
    """Return only the options with these names, for the price of an offer.

    Raises:
        InvalidInput: there is any other parameter.
    """
    return _search(params, [OPTIONS[name].parameter for name in names], others)


@lru_cache(maxsize=4096)
def _known_address(address: str) -> OfferQuery:
    return _search(QueryDict(address), NAMES)


def _search(params: QueryDict, known: Collection[str], others: Collection[str] = ()) -> OfferQuery:
    found, wrong = ParsedSearch(), list[FieldError]()
    if sum(len(values) for _, values in params.lists()) > VALUES_MAX:
        raise InvalidInput(_("A URL can have at most %(most)s values.") % {"most": VALUES_MAX})
    for name, texts in params.lists():
        filled = [text for text in texts if text]  # forms send their empty fields too
        if name in others or not (filled or name not in known) or len(wrong) >= _FAULTS_SHOWN:
            continue
        try:
            _read(name, filled, known, found)
        except BadValue as bad:
            code = "invalid" if name in known else "unknown"
            wrong.append(FieldError(name[:_NAME_CHARS], code, f"{bad.detail} {bad.hint}"))
    if wrong:
        raise InvalidInput(_("A search filter is invalid."), errors=wrong)
    _join_line(found, params.get("q", ""))
    if len(found.conditions) > CONDITIONS_MAX:
        raise InvalidInput(_("A search can have at most %(most)s conditions.") % {"most": CONDITIONS_MAX})
    return to_query(found)


def with_image_needs(query: OfferQuery, image_needs: Callable[[str], ImageNeeds]) -> OfferQuery:
    """Return `query` with the requirements of its image.

    Raises:
        InvalidInput: there is no such image.
    """
    if not query.image:
        return query
    try:
        return replace(query, image_needs=image_needs(query.image))
    except NotFound as error:
        raise InvalidInput(error.detail, errors=[FieldError("image", "unknown", error.detail)]) from error


def write_params(query: OfferQuery) -> str:
    """Return the query string that `parse_params` reads as `query`.

    What no parameter can express goes into `q`.
    """
    pairs = [(OPTIONS[name].parameter, write_value(value)) for name, value in stated_options(query).items()]
    in_search_line: list[Condition] = []
    joined: set[str] = set()
    for one in query.conditions:
        named = _WRITTEN[one.term, Op.IN if one.op is Op.EQ and (one.term, Op.IN) in _ALIASES else one.op]
        texts = [write_value(value) for value in _values(one)]
        comma = named.listed and any("," in text for text in texts)
        if comma or (named.op in _JOINED and named.name in joined):
            in_search_line.append(one)
            continue
        joined.add(named.name)
        pairs += [(named.name, ",".join(texts))] if named.listed else [(named.name, text) for text in texts]
    pairs += [("q", " ".join(write_condition(one) for one in in_search_line))] if in_search_line else []
    pairs += [(name, str(getattr(query, name))) for name in PAGING if getattr(query, name) != getattr(DEFAULTS, name)]
    return urlencode(pairs)


def _read(name: str, texts: list[str], known: Collection[str], found: ParsedSearch) -> None:
    if name not in known:
        detail = _("Unknown parameter: %(name)s.") % {"name": quoted_input(name)}
        raise BadValue(detail, hint=did_you_mean(name, known), choices=tuple(known))
    if any(len(text) > _VALUE_CHARS for text in texts):
        raise BadValue(_("The value is too long."), hint=_("At most %(most)s characters.") % {"most": _VALUE_CHARS})
    if name in _OPTION_OF_PARAMETER:
        option = _OPTION_OF_PARAMETER[name]
        _set_option(found, option.field, _one([option.read(text) for text in texts]))
    elif name in COMPARED:
        _condition(COMPARED[name], texts, found)
    elif name in PAGING:
        _set_option(found, name, _PAGED[name](_one(texts)))
    else:  # q, which is read after all parameters
        _one(texts)


def _condition(named: Compared, texts: list[str], found: ParsedSearch) -> None:
    if named.term == "count" and named.op in COUNT_SIGNS:
        _set_option(found, "gpu_count", _one([count_option(named.op, text) for text in texts]))
        return
    term = TERMS[named.term]
    groups = [text.split(",") if named.listed else [text] for text in texts]
    if named.op in _JOINED:
        groups = [[text for group in groups for text in group]]
    if any(len(group) > LIST_MAX for group in groups):
        hint = _("A list can have at most %(most)s values.") % {"most": LIST_MAX}
        raise BadValue(_("This list is too long."), hint=hint)
    for group in groups:
        values = [read_value(term, text) for text in group]
        op = Op.IN if named.op is Op.EQ and len(values) > 1 else named.op
        found.conditions.append(condition(term.name, op, values))


def _set_option(found: ParsedSearch, field: str, value: Any) -> None:
    if found.options.setdefault(field, value) != value:
        raise BadValue(_("This is set twice, with different values."), hint=_("Remove one of them."))


def _join_line(found: ParsedSearch, line: str) -> None:
    """Add the search of the line.

    Raises:
        InvalidInput: its options differ from those of the parameters.
    """
    inside = find_in_line(line)
    found.conditions += inside.conditions
    for field, value in inside.options.items():
        if found.options.setdefault(field, value) != value:
            [option] = [each for each in OPTIONS.values() if each.field == field]
            places = {"name": option.parameter, "inside": value, "outside": found.options[field]}
            detail = _("The search query sets %(inside)s, but %(name)s is %(outside)s. Remove one of them.") % places
            wrong = [FieldError(option.parameter, "clash", detail)]
            raise InvalidInput(_("The search query and the parameters conflict."), errors=wrong)


def _one(values: Iterable[Any]) -> Any:
    first, *rest = values
    if any(other != first for other in rest):
        raise BadValue(_("This is set twice, with different values."), hint=_("Remove one of them."))
    return first


def _values(one: Condition) -> tuple[Any, ...]:
    return one.value if isinstance(one.value, tuple) else (one.value,)


def _limit(text: str) -> int:
    digits = text.isascii() and text.isdecimal() and len(text) <= len(str(PAGE_SIZE_MAX))
    if not digits or not 1 <= int(text) <= PAGE_SIZE_MAX:
        hint = _("Enter a whole number from %(lowest)s to %(highest)s.") % {"lowest": 1, "highest": PAGE_SIZE_MAX}
        raise BadValue(_("%(text)s is out of range.") % {"text": quoted_input(text)}, hint=hint)
    return int(text)


def _cursor(text: str) -> str:
    if len(text) > _CURSOR_CHARS_MAX:
        raise BadValue(_("Invalid cursor."), hint=_("Use the “next” or “previous” value of a page unchanged."))
    return text


_PAGED: Final[Mapping[str, Callable[[str], Any]]] = {"limit": _limit, "cursor": _cursor}
