"""Template context of the calculator: modes side by side, break-even points, worked examples."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from billing.pricing.break_even import Crossing, bends
from billing.pricing.estimates import (
    HOURLY,
    MODES,
    RESERVED,
    SPOT,
    TIERED,
    UPFRONT,
    Estimate,
    Line,
    Plan,
    Step,
    Work,
    cost_at,
    discounted_micros,
    estimate,
    round_half_up,
)
from common.ids import parse_public_id, public_id
from common.money import format_money
from instances.pricing.examples import crossings_of
from instances.pricing.price_plans import disk_line, offer_plans, plain_number, terms_of
from instances.web.pricing.forms import CalculatorForm
from marketplace.leasing.offer_selectors import OfferView, offer_view
from marketplace.pricing.prices import TERM_HOURS
from marketplace.pricing.svg_charts import Axis, Tick, across, height_of, line_of, round_values
from marketplace.search.language.fields import OfferQuery
from marketplace.search.messages import LENGTH_LABELS, MODE_LABELS
from marketplace.search.selectors import search_offers

Words = str | Promise

_OFFERS_SHOWN: Final = 30
_AIR: Final = Fraction(5, 4)
_NEAR: Final = 4  # a break-even point beyond so many times the hours does not stretch the chart
_PERCENT: Final = 100

# The worked examples of docs/pricing.md: text, the address that fills the form, the mode to look at.
EXAMPLES: Final[tuple[tuple[Words, Mapping[str, str], str], ...]] = (
    (_("On-demand at 3.06, 8,760 hours"), {"unit_price": "3.06", "hours": "8760"}, HOURLY),
    (
        _("One year reserved at 1.38, 8,760 hours"),
        {"unit_price": "1.38", "hours": "8760", "term": "year", "discount": "0"},
        RESERVED,
    ),
    (
        _("Three years at 58% off 3.06, nothing upfront: the first 8,760 hours"),
        {"unit_price": "3.06", "hours": "8760", "term": "year3", "payment": "none", "discount": "58"},
        RESERVED,
    ),
    (
        _("Tiered at 2.80, 15% off after 720 hours: 720 hours"),
        {"unit_price": "2.80", "hours": "720", "tiers": "720:15"},
        TIERED,
    ),
    (
        _("Tiered at 2.80, 15% off after 720 hours: 1,000 hours"),
        {"unit_price": "2.80", "hours": "1000", "tiers": "720:15"},
        TIERED,
    ),
    (
        _("8 GPUs at 0.46 for 100 hours, 50 for storage, peak factor 1.15"),
        {"unit_price": "0.46", "hours": "100", "gpu_count": "8", "storage_total": "50", "peak_factor": "1.15"},
        HOURLY,
    ),
)


@dataclass(frozen=True)
class Example:
    """A worked example with its total, computed by the calculator itself."""

    words: Words
    query: str
    mode: Words
    total_micros: int


@dataclass(frozen=True)
class ModeRow:
    """One mode in the table.

    `cheaper_from` is the hours after which it is cheaper than hourly, `mean_micros` the mean price of an hour of use.
    """

    mode: str
    label: str
    unit_micros: int
    found: Estimate
    lines: tuple[tuple[Words, str], ...]
    mean_micros: int | None
    percent: int | None
    cheaper_from: str
    is_cheapest: bool
    color: int

    @property
    def is_owed_whole(self) -> bool:
        """Return whether the whole price is owed even if the term is not used up."""
        return self.found.commitment_micros is not None


@dataclass(frozen=True)
class ChartLine:
    """One mode's cost by hours of use."""

    label: str
    points: str
    color: int


@dataclass(frozen=True)
class Chart:
    """Chart of costs over hours of use, with the chosen hours and the break-even points."""

    lines: list[ChartLine]
    prices: list[Tick]
    hours: list[tuple[str, str]]
    chosen: str
    dots: list[tuple[str, str]]


def calculator_context(params: QueryDict) -> dict[str, Any]:
    """Return the context of the calculator, or raise NotFound for an unknown offer."""
    key = params.get("offer", "")
    offer = offer_view(parse_public_id("offr", key)) if key else None
    form = CalculatorForm(params, _offer_choices(offer))
    context: dict[str, Any] = {"form": form, "offer": offer, "examples": _examples()}
    if not form.is_valid():
        return context
    wanted = form.cleaned_data
    plans = _own_plans(wanted) if offer is None else _offer_plans(offer, wanted)
    work = _work(wanted, offer)
    found = crossings_of(plans)
    return {
        **context,
        "query": urlencode(form.query),
        "hours": plain_number(work.hours),
        "rows": _rows(plans, work, found, LENGTH_LABELS[wanted["term"] or "month"]),
        "missing": [MODE_LABELS[mode] for mode in MODES if mode not in plans],
        "chart": _chart(plans, work, found) if work.hours else None,
        "crossings": [_crossing_message(each) for each in found],
    }


def _offer_choices(chosen: OfferView | None) -> list[tuple[str, str]]:
    """Return the cheapest open offers, and the chosen one, open or not."""
    rows = search_offers(OfferQuery(limit=_OFFERS_SHOWN)).offers
    named = {
        public_id("offr", row["id"]): _offer_label(row["gpu_name"], row["region"], row["host_name"], row["price_micros"])
        for row in rows
    }
    if chosen is not None:
        words = _offer_label(chosen.gpu_name, chosen.region, chosen.host_name, chosen.price_micros)
        named.setdefault(public_id("offr", chosen.id), words)
    return list(named.items())


def _offer_label(gpu: str, region: str, host: str, price_micros: int) -> str:
    return f"{gpu} · {region} · {host} · {format_money(price_micros)}"


# Prices and work.


def _own_plans(wanted: Mapping[str, Any]) -> dict[str, Plan]:
    hourly, discount = wanted["unit_price"], wanted["discount"]
    found = {HOURLY: Plan(HOURLY, hourly)}
    if discount is not None:
        off, hours = Fraction(discount) / _PERCENT, TERM_HOURS[wanted["term"] or "month"]
        unit = discounted_micros(hourly, off)
        found[RESERVED] = Plan(RESERVED, unit, (), hours, wanted["payment"] or UPFRONT, after_micros=hourly)
    if wanted["tiers"]:
        steps = tuple(Step(start, discounted_micros(hourly, off)) for start, off in wanted["tiers"])
        found[TIERED] = Plan(TIERED, hourly, steps)
    if wanted["spot_price"] is not None:
        found[SPOT] = Plan(SPOT, wanted["spot_price"])
    return found


def _offer_plans(offer: OfferView, wanted: Mapping[str, Any]) -> dict[str, Plan]:
    term = wanted["term"] or "month"
    return offer_plans(offer, term=term if term in terms_of(offer) else "", payment=wanted["payment"] or UPFRONT)


def _work(wanted: Mapping[str, Any], offer: OfferView | None) -> Work:
    hours, peak = Fraction(wanted["hours"]), wanted["peak_factor"]
    storage = wanted["storage_total"] or 0
    if offer is not None:
        disk = disk_line(offer, data_disk_gb=wanted["data_disk_gb"] or 0, hours=hours)
        storage += disk.amount_micros if disk else 0
    return Work(hours, wanted["gpu_count"], storage, Fraction(1 if peak is None else peak))


# The table.


def _label(mode: str, term: Words) -> str:
    words = MODE_LABELS[mode]
    return gettext("%(mode)s, %(term)s") % {"mode": words, "term": term} if mode == RESERVED else str(words)


def _rows(plans: Mapping[str, Plan], work: Work, found: list[Crossing], term: Words) -> list[ModeRow]:
    costs = {mode: estimate(plan, work) for mode, plan in plans.items()}
    least = min(each.total_micros for each in costs.values())
    return [
        ModeRow(
            mode=mode,
            label=_label(mode, term),
            unit_micros=plans[mode].unit_micros,
            found=cost,
            lines=tuple((_line_label(line), format_money(line.amount_micros)) for line in cost.lines),
            mean_micros=_mean(cost, work),
            percent=_percent(cost.total_micros, costs[HOURLY].total_micros) if mode != HOURLY else None,
            cheaper_from=_cheaper_from(mode, found),
            is_cheapest=len(costs) > 1 and cost.total_micros == least,
            color=MODES.index(mode) + 1,
        )
        for mode, cost in costs.items()
    ]


def _mean(cost: Estimate, work: Work) -> int | None:
    return round_half_up(cost.total_micros / (work.hours * work.gpu_count)) if work.hours else None


def _percent(total: int, hourly: int) -> int | None:
    """Return how much cheaper than hourly it is in whole percent; negative when it costs more."""
    return round_half_up(Fraction((hourly - total) * _PERCENT, hourly)) if hourly else None


def _cheaper_from(mode: str, found: list[Crossing]) -> str:
    return next((_hours(each.hours) for each in found if (each.cheaper, each.dearer) == (mode, HOURLY)), "")


def _line_label(line: Line) -> Words:
    quantity, unit = plain_number(line.quantity), format_money(line.unit_micros)
    match line.item:
        case "Storage":
            return gettext("Storage")
        case "Peak factor":
            return gettext("Peak surcharge: %(quantity)s × %(sum)s") % {"quantity": quantity, "sum": unit}
        case _:
            return gettext("%(quantity)s GPU-hours × %(price)s") % {"quantity": quantity, "price": unit}


def _crossing_message(each: Crossing) -> str:
    names = {"cheaper": MODE_LABELS[each.cheaper], "dearer": MODE_LABELS[each.dearer], "hours": _hours(each.hours)}
    return gettext("Beyond %(hours)s hours of use, %(cheaper)s costs less than %(dearer)s.") % names


def _hours(hours: Fraction) -> str:
    """Return hours to one decimal place."""
    return plain_number(Fraction(round_half_up(hours * 10), 10))


# The chart.


def _chart(plans: Mapping[str, Plan], work: Work, found: list[Crossing]) -> Chart:
    factor = work.gpu_count * work.peak_factor
    near = [each.hours for each in found if each.hours <= work.hours * _NEAR]
    x = Axis(0, max([work.hours, *near]) * _AIR)
    tops = [cost_at(plan, Fraction(x.high)) * factor for plan in plans.values()]
    y = Axis(0, max([*tops, Fraction(1)]) * Fraction(21, 20))
    lines = []
    for mode, plan in plans.items():
        at = sorted({Fraction(0), Fraction(x.high), *(hours for hours in bends(plan) if hours < x.high)})
        points = line_of(x, y, [(hours, cost_at(plan, hours) * factor) for hours in at])
        lines.append(ChartLine(str(MODE_LABELS[mode]), points, MODES.index(mode) + 1))
    meets = [
        (across(x, each.hours), height_of(y, cost_at(plans[each.cheaper], each.hours) * factor))
        for each in found
        if each.hours < x.high
    ]
    return Chart(
        lines=lines,
        prices=[Tick(height_of(y, value), int(value)) for value in round_values(y)],
        hours=[(across(x, value), plain_number(value)) for value in round_values(x, 5) if value < x.high * Fraction(19, 20)],
        chosen=across(x, work.hours),
        dots=meets,
    )


# Worked examples.


def _examples() -> list[Example]:
    return [
        Example(words, urlencode(query), MODE_LABELS[mode], example_total(query, mode)) for words, query, mode in EXAMPLES
    ]


def example_total(query: Mapping[str, str], mode: str) -> int:
    """Return the total of a worked example, computed from the form."""
    form = CalculatorForm(QueryDict(urlencode(query)), [])
    if not form.is_valid():
        raise ValueError(f"a worked example is not valid: {form.errors}")
    wanted = form.cleaned_data
    return estimate(_own_plans(wanted)[mode], _work(wanted, None)).total_micros
