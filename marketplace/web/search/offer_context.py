"""Template context of the offer page: prices in every mode, and the facts of catalogue and host."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from django.http import QueryDict
from django.utils.translation import gettext

from common import clock
from common.errors import NotFound
from marketplace.constants import FREE_DATA_DISK_GB
from marketplace.gpu_catalogue.catalogue import by_slug
from marketplace.hosts.selectors import host_record
from marketplace.pricing.cpu_ram_share import usual_counts
from marketplace.pricing.offer_requirements import NO_IMAGE, terms_within
from marketplace.pricing.prices import TERM_HOURS, all_in_micros, discounted, spot_price_micros, unit_price_micros
from marketplace.search.language.fields import Condition, OfferQuery, Op
from marketplace.search.language.parser import write_line
from marketplace.search.messages import MODE_LABELS, reserved_label
from marketplace.search.selectors import offers_like
from marketplace.self_tests.selectors import facts_of_offer
from marketplace.spot_market.selectors import spot_lately
from marketplace.web.pricing.charts import price_chart
from marketplace.web.search.filter_panel import Choice
from marketplace.web.search.language.query_string import parse_params
from marketplace.web.search.rows import OfferRow, rent_query
from marketplace.web.spot_market.charts import spot_chart

_BPS_PER_PERCENT: Final = 100
_BPS: Final = 10_000

Row = Mapping[str, Any]


@dataclass(frozen=True)
class PriceLine:
    """One billing option.

    `whole_micros` is the sum over a reserved term; `query` are the parameters of the rent page.
    """

    mode: str
    label: str
    unit_micros: int
    total_micros: int
    off_percent: str = ""
    whole_micros: int | None = None
    query: str = ""


def offer_context(offer_id: UUID, params: QueryDict, picks: Sequence[UUID]) -> dict[str, Any]:
    """Return the context of the offer page.

    `params` may contain `gpu_count` and `data_disk_gb`, as in the market's URL.

    Raises:
        NotFound: there is no such offer.
        InvalidInput: a parameter is wrong.
    """
    query = replace(parse_params(params, image_needs=lambda _image: NO_IMAGE), conditions=())
    row = next(iter(offers_like([offer_id])), None)
    if row is None:
        raise NotFound("This offer doesn't exist.")
    lines, facts = price_lines(row, query), facts_of_offer(offer_id)
    return {
        "offer": OfferRow(row, query, offer_id in picks),
        "gpu": by_slug(row["gpu_model"]),
        "facts": facts,
        "measured": {fact.name: fact for fact in facts.measured},
        "chart": price_chart(offer_id),
        "spot_lately": spot_lately(offer_id),
        "spot_chart": spot_chart(offer_id, floor_micros=row["spot_floor_micros"]),
        "record": host_record(row["host_id"]),
        "wait_line": write_line(replace(query, conditions=(Condition("gpu", Op.EQ, row["gpu_model"]),))),
        "query": query,
        "price": lines[0],
        "lines": lines,
        "counts": _counts(row, query),
        "rent_query": rent_query(query),
        "free_disk_gb": FREE_DATA_DISK_GB,
        "hold_micros": discounted(row["price_micros"], _BPS - row["hold_bps"]),
    }


def _counts(row: Row, query: OfferQuery) -> list[Choice]:
    numbers = sorted({*usual_counts(row["gpu_total"]), query.gpu_count})
    return [Choice(str(n), str(n), None, n == query.gpu_count) for n in numbers]


def price_lines(row: Row, query: OfferQuery) -> list[PriceLine]:
    """Return every mode that the offer sells: hourly, each step of the tiers, each term, the spot floor."""
    return [_mode_line(row, query, "hourly"), *_tier_lines(row, query), *_term_lines(row, query), *_spot_lines(row, query)]


def _line(row: Row, query: OfferQuery, unit_micros: int) -> tuple[int, int]:
    disk = {"disk_micros_gb_day": row["disk_micros_gb_day"], "data_disk_gb": query.data_disk_gb}
    return all_in_micros(unit_micros=unit_micros, gpu_count=query.gpu_count, **disk)


def _mode_line(row: Row, query: OfferQuery, mode: str) -> PriceLine:
    options = replace(query, billing_mode=mode)
    return PriceLine(mode, str(MODE_LABELS[mode]), *_line(row, query, row["price_micros"]), query=rent_query(options))


def _tier_lines(row: Row, query: OfferQuery) -> list[PriceLine]:
    options = rent_query(replace(query, billing_mode="tiered"))
    return [
        PriceLine(
            "tiered",
            gettext("%(mode)s, after %(hours)s h") % {"mode": MODE_LABELS["tiered"], "hours": hours},
            *_line(row, query, discounted(row["price_micros"], off_bps)),
            off_percent=_percent(off_bps),
            query=options,
        )
        for hours, off_bps in row["tiers"]
    ]


def _term_lines(row: Row, query: OfferQuery) -> list[PriceLine]:
    """Return the terms that the host stays for, in the order of their lengths."""
    terms = terms_within(row["reserved_discounts"], listed_until=row["listed_until"], now=clock.now())
    return [_term_line(row, replace(query, billing_mode="reserved", term=term)) for term in terms]


def _term_line(row: Row, query: OfferQuery) -> PriceLine:
    prices = {"price_micros": row["price_micros"], "tiers": row["tiers"], "spot_floor_micros": row["spot_floor_micros"]}
    unit = unit_price_micros(mode="reserved", term=query.term, reserved_discounts=row["reserved_discounts"], **prices)
    unit_micros, total_micros = _line(row, query, unit or 0)
    return PriceLine(
        "reserved",
        reserved_label(query.term),
        unit_micros,
        total_micros,
        off_percent=_percent(row["reserved_discounts"][query.term]),
        whole_micros=total_micros * TERM_HOURS[query.term],
        query=rent_query(query),
    )


def _spot_lines(row: Row, query: OfferQuery) -> list[PriceLine]:
    if row["spot_floor_micros"] is None:
        return []
    label = gettext("%(mode)s, now") % {"mode": MODE_LABELS["spot"]}
    options = rent_query(replace(query, billing_mode="spot"))
    now = spot_price_micros(floor_micros=row["spot_floor_micros"], now_micros=row["spot_now_micros"]) or 0
    return [PriceLine("spot", label, *_line(row, query, now), query=options)]


def _percent(off_bps: int) -> str:
    return f"{off_bps / _BPS_PER_PERCENT:g}" if off_bps else ""
