"""JSON responses of the market's API: pages and facets, the grammar, saved searches."""

import json
from functools import lru_cache
from typing import Any, Final

from common.ids import public_id
from common.json import to_json
from common.money import format_money
from marketplace.errors import SearchSyntaxError
from marketplace.models import SavedSearch
from marketplace.search.index.facets import FacetChoice
from marketplace.search.language.fields import Condition, OfferQuery
from marketplace.search.language.options import CONDITIONS_MAX, LIST_MAX
from marketplace.search.language.parser import LINE_MAX, parse_line, write_line
from marketplace.search.results import MarketFacets, MarketPage
from marketplace.search.volume_locality import VolumePlace, way_shape
from marketplace.web.search.language.query_string import write_params
from marketplace.web.search.language.reference_table import Row, term_rows, wish_rows

EXAMPLE: Final = "gpu=rtx-3090 count>=2 region in [cn-north,eu-west] price<1.5"
# Facets by the parameter that takes their values.
FACETS: Final = {
    "gpu": "gpu_model",
    "series": "gpu_series",
    "architecture": "architecture",
    "region": "region",
    "runtime": "runtime",
    "simulated": "simulated",
    "verified": "verified",
    "nvlink": "nvlink",
    "disk": "disk_kind",
    "vram": "vram",
    "cuda": "cuda",
    "count": "gpu_count",
}


def offers_json(page: MarketPage, following: str | None, previous: str | None, place: VolumePlace | None) -> bytes:
    """Return a page as JSON; its offers are encoded already.

    `following` and `previous` are URLs, `place` is that of a volume to be mounted.
    """
    around = {"next": following, "previous": previous, "total": page.total, "hidden_by_image": page.hidden_by_image}
    results = page.results
    if place is not None:
        results = to_json([offer | {"volume": way_shape(place, offer)} for offer in json.loads(results)])
    return b'%s,"results":%s}' % (to_json(around)[:-1], results)


def facets_json(found: MarketFacets, query: OfferQuery) -> bytes:
    total = found.facets.total
    removed = [_removed(each.what, query, each.left_without, total) for each in found.removed]
    choices = {FACETS[term]: [_choice(each) for each in row] for term, row in found.facets.choices.items()}
    return to_json({"total": total, "hidden_by_image": found.hidden_by_image, "removed": removed, **choices})


def _choice(choice: FacetChoice) -> dict[str, Any]:
    low = choice.price_min_micros
    price = None if low is None else format_money(low)
    return {"value": choice.value, "label": choice.label, "count": choice.count, "price_min": price}


def _removed(what: Condition | str, query: OfferQuery, left_without: int, total: int) -> dict[str, Any]:
    """Return a condition, or an option by the name of its field, with its effect."""
    if isinstance(what, Condition):
        alone = OfferQuery(conditions=(what,))
    else:
        wished = {what: getattr(query, what)} | ({"term": query.term} if what == "billing_mode" else {})
        alone = OfferQuery(**wished)
    line, address = _written(alone)
    return {"filter": line, "parameter": address, "left_without": left_without, "removes": left_without - total}


@lru_cache(maxsize=4096)
def _written(alone: OfferQuery) -> tuple[str, str]:
    """Return one part of a search as a line and as parameters.

    Cached, since most searches consist of the same few parts.
    """
    return write_line(alone), write_params(alone)


def terms_shape() -> dict[str, Any]:
    return {
        "example": EXAMPLE,
        "terms": [_row(row) for row in term_rows()],
        "wishes": [_row(row) for row in wish_rows()],
        "limits": {"line_characters": LINE_MAX, "conditions": CONDITIONS_MAX, "list_values": LIST_MAX},
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "kind": row.kind,
        "unit": row.unit,
        "ops": row.ops,
        "parameters": row.parameters,
        "units": row.units,
        "choices": row.choices,
        "about": row.about,
    }


def saved_search_shape(search: SavedSearch) -> dict[str, Any]:
    return {
        "id": public_id("srch", search.pk),
        "name": search.name,
        "line": search.line,
        "query": _address_of(search.line),
        "created_at": search.created_at,
    }


def _address_of(line: str) -> str | None:
    """Return the parameters of a line, or None for one saved under an earlier grammar or catalogue."""
    try:
        return write_params(parse_line(line))
    except SearchSyntaxError:
        return None
