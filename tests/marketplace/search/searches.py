"""Random searches in canonical form, as Hypothesis draws them."""

from decimal import Decimal
from typing import Any, Final

from hypothesis import strategies as st

from marketplace.constants import DATA_DISK_GB_MAX, MAX_GPUS_PER_HOST
from marketplace.pricing.prices import TERM_HOURS
from marketplace.search.language.field_names import slugs
from marketplace.search.language.fields import BILLING_MODES, TERMS, Condition, Kind, OfferQuery, Op, Term
from marketplace.search.language.options import COUNT_SIGNS, SORT_NAMES, condition, in_order
from marketplace.search.language.parser import LINE_MAX, write_line
from marketplace.search.language.values import known_choices

_REGIONS: Final = st.one_of(
    st.sampled_from(["eu-west", "cn-north", "Shanghai", "上海", "Paris, FR", 'the "lab"', "a\\b", "or", "in", "-x", "="]),
    st.text(min_size=1, max_size=40).filter(lambda text: text.isprintable() and text == text.strip()),
)
_CHOICES: Final[dict[str, st.SearchStrategy[Any]]] = {
    "gpu": st.sampled_from([*slugs(), "rtx-4090-d", "x1", "own-model"]),
    "region": _REGIONS,
    "host": st.uuids().map(lambda key: f"host_{key.hex}"),
}


def numbers(highest: int = 999_999_999) -> st.SearchStrategy[Decimal]:
    return st.integers(0, highest * 10**6).map(lambda micros: (Decimal(micros) / 10**6).normalize())


def values_of(term: Term) -> st.SearchStrategy[Any]:
    match term.kind:
        case Kind.NUMBER | Kind.MONEY:
            return numbers(1 if term.name == "reliability" else 999_999_999)
        case Kind.VERSION:
            return st.lists(st.integers(0, 9999), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
        case Kind.FLAG:
            return st.booleans()
        case Kind.CHOICE:
            return _CHOICES[term.name] if term.name in _CHOICES else st.sampled_from(known_choices(term.name))


@st.composite
def conditions(draw: st.DrawFn, term: Term | None = None) -> Condition:
    term = term or TERMS[draw(st.sampled_from(sorted(TERMS)))]
    lawful = [op for op in Op if op in term.ops and not (term.name == "count" and op in COUNT_SIGNS)]
    op = draw(st.sampled_from(lawful))
    if op in (Op.IN, Op.NOT_IN):
        return condition(term.name, op, draw(st.lists(values_of(term), min_size=1, max_size=4)))
    return condition(term.name, op, [draw(values_of(term))])


def _fits_a_line(query: OfferQuery) -> bool:
    return len(write_line(query)) <= LINE_MAX


def searches() -> st.SearchStrategy[OfferQuery]:
    """Anything that a line can say."""
    return st.builds(
        OfferQuery,
        conditions=st.lists(conditions(), max_size=6).map(in_order),
        gpu_count=st.integers(1, MAX_GPUS_PER_HOST),
        billing_mode=st.sampled_from(BILLING_MODES),
        term=st.sampled_from(sorted(TERM_HOURS)),
        data_disk_gb=st.integers(0, DATA_DISK_GB_MAX),
        image=st.sampled_from(["", "berth-base", "img_" + "0" * 32]),
        sort=st.sampled_from(SORT_NAMES),
    ).filter(_fits_a_line)
