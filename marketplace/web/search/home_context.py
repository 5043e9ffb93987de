"""Template context of the home page: the present market, and example searches."""

from typing import Any, Final

from django.utils.translation import gettext_lazy as _

from marketplace.search.language.fields import OfferQuery
from marketplace.search.messages import value_label
from marketplace.search.selectors import search_facets, search_offers
from marketplace.web.search.filter_panel import Choice
from marketplace.web.search.rows import offer_rows, rent_query

_ON_HOME: Final = 6
_MODELS_ON_HOME: Final = 8
# Lines that show what the search box understands.
EXAMPLES: Final = (
    ("4090", _("A model by name")),
    ("gpu in [a100,h100-sxm] count=8", _("Eight GPUs of either model")),
    ("vram>=24 price<0.50", _("24 GB or more, all-in under 0.50 per GPU-hour")),
    ("region in [eu-west,cn-north] verified", _("Verified hosts in one of two regions")),
    ("reliability>=99% lease_hours>=30d", _("Reliable hosts available for a month")),
    ("not simulated disk=nvme disk_read>=2GB/s", _("Real GPUs with a fast disk")),
    ("mode=reserved term=month data_disk=500", _("Monthly reserved prices, with a 500 GB disk")),
    ("nvlink sort=-value", _("NVLink GPUs, most TFLOPS for the money first")),
)


def home_context() -> dict[str, Any]:
    query = OfferQuery(limit=_ON_HOME)
    counted, page = search_facets(query), search_offers(query)
    models = [
        Choice(str(row.value), value_label("gpu", str(row.value)), row.count, False, row.price_min_micros)
        for row in counted.choices["gpu"]
    ]
    return {
        "rows": offer_rows(page.offers, query),
        "query": query,
        "rent_query": rent_query(query),
        "total": page.total,
        "models": models[:_MODELS_ON_HOME],
        "model_count": len(models),
        "region_count": len(counted.choices["region"]),
        "cheapest": min((model.low_micros for model in models if model.low_micros is not None), default=0),
        "examples": [line for line, _words in EXAMPLES[:4]],
    }
