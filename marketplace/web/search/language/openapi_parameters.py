"""Parameters of a search in the OpenAPI document, generated from the table of terms."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from drf_spectacular.utils import OpenApiParameter

from marketplace.constants import PAGE_SIZE, PAGE_SIZE_MAX
from marketplace.search.language.fields import PARAMETERS, TERMS, Kind, Op, Term
from marketplace.search.language.options import OPTIONS, SearchOption
from marketplace.search.language.parser import LINE_MAX
from marketplace.search.language.values import UNITS, known_choices
from marketplace.web.search.language.query_string import COMPARED, Compared
from marketplace.web.search.language.reference_table import ABOUT

# The options that change what an offer costs: a single offer takes these.
PRICE_OPTIONS: Final = ("count", "mode", "term", "data_disk")

_WORDS: Final[Mapping[Op, str]] = {
    Op.EQ: "equal to",
    Op.NE: "other than",
    Op.LT: "below",
    Op.LE: "at most",
    Op.GT: "above",
    Op.GE: "at least",
    Op.IN: "one of, with commas between",
    Op.NOT_IN: "none of, with commas between",
}
_SHAPES: Final[Mapping[Kind, Mapping[str, Any]]] = {
    Kind.NUMBER: {"type": "number", "minimum": 0},
    Kind.MONEY: {"type": "string", "pattern": r"^\d{1,9}(\.\d{1,6})?$"},
    Kind.VERSION: {"type": "string", "pattern": r"^\d{1,4}(\.\d{1,4}){0,2}$"},
    Kind.FLAG: {"type": "boolean"},
    Kind.CHOICE: {"type": "string"},
}


def option_parameters(*names: str) -> list[OpenApiParameter]:
    """Return the parameters of the options with these names, or of all."""
    return [_parameter_of(option) for option in OPTIONS.values() if not names or option.name in names]


def search_parameters() -> list[OpenApiParameter]:
    """Return all parameters of a search except the page."""
    line = {"type": "string", "maxLength": LINE_MAX}
    about = "A search line such as `gpu=rtx-3090 count>=2 region in [cn-north,eu-west] price<1.5`; GET /search-terms"
    return [OpenApiParameter("q", line, description=about), *option_parameters(), *_compared()]


def page_parameters() -> list[OpenApiParameter]:
    limit = {"type": "integer", "minimum": 1, "maximum": PAGE_SIZE_MAX, "default": PAGE_SIZE}
    cursor = {"type": "string", "maxLength": 200}
    return [
        OpenApiParameter("limit", limit, description="Offers per page"),
        OpenApiParameter("cursor", cursor, description="Taken from `next` or `previous`"),
    ]


def _parameter_of(option: SearchOption) -> OpenApiParameter:
    shape: dict[str, Any] = {"type": "string"}
    if option.choices:
        shape["enum"] = list(option.choices)
    elif option.name in ("count", "data_disk"):
        shape = {"type": "integer", "minimum": 1 if option.name == "count" else 0}
    unit = f", in {option.unit}" if option.unit else ""
    return OpenApiParameter(option.parameter, shape, description=option.about + unit)


def _compared() -> Iterator[OpenApiParameter]:
    """Yield the usual names first, then every term with every operator."""
    for named in sorted(COMPARED.values(), key=lambda each: each.name not in PARAMETERS):
        term = TERMS[named.term]
        shape = _shape(term)
        listed = named.op in (Op.IN, Op.NOT_IN)
        if listed:
            shape = {"type": "array", "items": shape, "minItems": 1}
        yield OpenApiParameter(
            named.name,
            shape,
            description=_about(named, term),
            style="form" if listed else None,
            explode=not named.listed if listed else None,
        )


def _about(named: Compared, term: Term) -> str:
    words = "one of; repeatable" if named.op is Op.IN and not named.listed else _WORDS[named.op]
    unit = f", in {term.unit}" if term.unit else ""
    units = f"; a number may have a unit: {', '.join(UNITS[term.name])}" if term.name in UNITS else ""
    return f"{ABOUT[term.name]}: {words}{unit}{units}"


def _shape(term: Term) -> dict[str, Any]:
    shape = dict(_SHAPES[term.kind])
    if term.kind is Kind.CHOICE and (choices := known_choices(term.name)):
        shape["enum"] = list(choices)
    return shape
