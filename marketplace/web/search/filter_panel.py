"""Filter panel: a table of fields and presets, filled with the search's values and with counts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

from marketplace.search.language.fields import PARAMETERS, SUFFIX, TERMS, Condition, Kind, Op, Scalar
from marketplace.search.messages import TERM_LABELS, Words, plain_number, value_label

_SUFFIX_OF: Final = {op: suffix for suffix, op in SUFFIX.items()}
USUAL_COUNTS: Final = (1, 2, 4, 8)
_LIST_SHOWN: Final = 10
_NAME_OF: Final = {place: name for name, place in PARAMETERS.items()}


Enough = Mapping[Condition, int]


@dataclass(frozen=True)
class Field:
    """One filter.

    `shape` is how it is drawn: checks, pills, flag, either (yes, no, both), least (presets), most (typed).
    """

    term: str
    op: Op
    shape: str
    presets: Sequence[str] = ()
    title: Words = ""

    @property
    def name(self) -> str:
        """Return the name of the URL parameter."""
        return _NAME_OF.get((self.term, self.op), f"{self.term}__{_SUFFIX_OF[self.op]}")


@dataclass(frozen=True)
class Section:
    """Filters under one heading; those that are not `primary` are collapsed until they are used."""

    slug: str
    title: Words
    fields: Sequence[Field]
    primary: bool = False


SECTIONS: Final = (
    Section(
        "gpu",
        "GPU",
        (
            Field("series", Op.IN, "pills"),
            Field("gpu", Op.IN, "checks"),
            Field("vram", Op.GE, "least"),
            Field("nvlink", Op.EQ, "flag"),
        ),
        primary=True,
    ),
    Section(
        "price",
        _("Price"),
        (
            Field("price", Op.LE, "most", title=_("per GPU-hour")),
            Field("total", Op.LE, "most", title=_("per hour, all GPUs")),
        ),
        primary=True,
    ),
    Section("region", _("Region"), (Field("region", Op.IN, "checks"),), primary=True),
    Section(
        "trust",
        _("Trust"),
        (
            Field("verified", Op.EQ, "flag"),
            Field("simulated", Op.EQ, "either"),
            Field("reliability", Op.GE, "least", ("0.9", "0.95", "0.99", "0.995", "0.999")),
            Field("lease_hours", Op.GE, "least", ("24", "168", "720", "2160", "8760")),
        ),
        primary=True,
    ),
    Section(
        "machine",
        _("CPU, RAM and CUDA"),
        (
            Field("cuda", Op.GE, "least"),
            Field("cpu", Op.GE, "least", ("4", "8", "12", "16", "24", "32")),
            Field("ram", Op.GE, "least", ("16", "32", "64", "128", "256")),
        ),
    ),
    Section(
        "disk",
        _("Disk"),
        (
            Field("disk", Op.IN, "checks"),
            Field("disk_free", Op.GE, "least", ("100", "500", "1000", "2000", "4000")),
            Field("disk_read", Op.GE, "least", ("200", "500", "1000", "2000", "4000", "6000")),
            Field("disk_write", Op.GE, "least", ("200", "500", "1000", "2000", "4000")),
        ),
    ),
    Section(
        "network",
        _("Network"),
        (
            Field("net_down", Op.GE, "least", ("50", "100", "500", "1000", "5000", "10000")),
            Field("net_up", Op.GE, "least", ("50", "100", "500", "1000", "5000", "10000")),
        ),
    ),
)


# Thresholds that are not facets; their matches are requested together with the facets.
THRESHOLDS: Final = tuple(
    Condition(each.term, each.op, Decimal(preset))
    for section in SECTIONS
    for each in section.fields
    for preset in each.presets
)


@dataclass(frozen=True)
class Choice:
    """One value of a filter, and how many offers it would match; None where it was not counted."""

    value: str
    label: str
    count: int | None
    chosen: bool
    low_micros: int | None = None

    @property
    def key(self) -> str:
        """Return the value as a part of an element's id, in any script."""
        return re.sub(r"\W+", "-", self.value.lower())


@dataclass(frozen=True)
class Filled:
    """A field with its present values: `value` of a typed one, `choices` of the others."""

    field: Field
    value: str
    choices: list[Choice]

    @property
    def name(self) -> str:
        return self.field.name

    @property
    def id(self) -> str:
        return f"f-{self.field.term}"

    @property
    def shape(self) -> str:
        return self.field.shape

    @property
    def label(self) -> Words:
        return self.field.title or TERM_LABELS[self.field.term]

    @property
    def unit(self) -> str:
        return TERMS[self.field.term].unit

    @property
    def is_money(self) -> bool:
        return TERMS[self.field.term].kind is Kind.MONEY

    @property
    def shown(self) -> list[Choice]:
        """Return the first choices of a long list, and every chosen one."""
        return [each for place, each in enumerate(self.choices) if place < _LIST_SHOWN or each.chosen]

    @property
    def folded(self) -> list[Choice]:
        return [each for place, each in enumerate(self.choices) if place >= _LIST_SHOWN and not each.chosen]

    @property
    def in_use(self) -> bool:
        return bool(self.value)


@dataclass(frozen=True)
class FilledSection:
    """A section with its filled fields."""

    section: Section
    fields: list[Filled]

    @property
    def is_open(self) -> bool:
        return self.section.primary or self.in_use > 0

    @property
    def in_use(self) -> int:
        return sum(each.in_use for each in self.fields)


@dataclass(frozen=True)
class Panel:
    """The whole panel; `rest` are conditions that no field can show and that are passed on unchanged."""

    sections: list[FilledSection]
    rest: tuple[Condition, ...] = field(default=())

    @property
    def in_use(self) -> int:
        return sum(section.in_use for section in self.sections)


def fill_panel(conditions: Sequence[Condition], counted: Mapping[str, Sequence[Any]], enough: Enough) -> Panel:
    """Return the filled panel.

    `counted` are the facets' choices by term, `enough` what each of THRESHOLDS would match.
    """
    left = list(conditions)
    sections = [
        FilledSection(
            section, [_fill(each, _pop_condition(left, each), counted.get(each.term, ()), enough) for each in section.fields]
        )
        for section in SECTIONS
    ]
    return Panel(sections, tuple(left))


def _pop_condition(left: list[Condition], wanted: Field) -> Condition | None:
    """Remove from `left` and return the first condition that the field can show.

    One value is a list of one.
    """
    operators = {wanted.op, Op.EQ} if wanted.op is Op.IN else {wanted.op}
    for condition in left:
        shown = wanted.shape != "flag" or condition.value is True
        if condition.term == wanted.term and condition.op in operators and shown:
            left.remove(condition)
            return condition
    return None


def _fill(wanted: Field, condition: Condition | None, counted: Sequence[Any], enough: Enough) -> Filled:
    values = () if condition is None else _as_tuple(condition.value)
    chosen = [_text(value) for value in values]
    match wanted.shape:
        case "checks" | "pills":
            choices = _listed(wanted, chosen, counted)
        case "flag" | "either":
            choices = _flags(chosen, counted)
        case "least":
            choices = _levels(wanted, chosen, counted) if counted else _presets(wanted, chosen, enough)
        case _:
            choices = []
    return Filled(wanted, ",".join(chosen), choices)


def _listed(wanted: Field, chosen: list[str], counted: Sequence[Any]) -> list[Choice]:
    """Return every choice with matches, and chosen ones without."""
    rows = [
        Choice(
            str(row.value), value_label(wanted.term, row.value), row.count, str(row.value) in chosen, row.price_min_micros
        )
        for row in counted
        if row.value != "unknown"
    ]
    missing = [value for value in chosen if value not in {row.value for row in rows}]
    return rows + [Choice(value, value_label(wanted.term, value), 0, chosen=True) for value in missing]


def _flags(chosen: list[str], counted: Sequence[Any]) -> list[Choice]:
    counts = {_text(row.value): row.count for row in counted}
    words = {"true": _("Yes"), "false": _("No")}
    return [Choice(value, str(words[value]), counts.get(value, 0), value in chosen) for value in words]


def _presets(wanted: Field, chosen: list[str], enough: Enough) -> list[Choice]:
    """Return rising thresholds, including one that somebody typed."""
    values = sorted({Decimal(text) for text in (*wanted.presets, *chosen)})
    return [
        Choice(
            plain_number(value),
            value_label(wanted.term, value),
            enough.get(Condition(wanted.term, wanted.op, value)),
            plain_number(value) in chosen,
        )
        for value in values
    ]


def _levels(wanted: Field, chosen: list[str], counted: Sequence[Any]) -> list[Choice]:
    """Return every existing value as a threshold: it matches all offers from it on."""
    texts = {_text(row.value) for row in counted} | set(chosen)
    return [
        Choice(text, value_label(wanted.term, text), _count_from(text, counted), text in chosen)
        for text in sorted(texts, key=_rank)
    ]


def _count_from(text: str, counted: Iterable[Any]) -> int:
    return sum(row.count for row in counted if _rank(_text(row.value)) >= _rank(text))


def _rank(text: str) -> tuple[Decimal, ...]:
    """Return the sort key of a version, compared part by part; a size is its only part."""
    return tuple(Decimal(part) for part in text.split("."))


def _as_tuple(value: Scalar | tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    return value if isinstance(value, tuple) else (value,)


def _text(value: Scalar) -> str:
    """Return a value as an input of the form contains it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else plain_number(value)
