"""What the API's requests for a quote and for an instance say, as the services take it."""

from typing import Any

from common.ids import parse_public_id
from common.money import parse_money
from instances.services.order_match import Expected
from instances.shapes import OFFER_PREFIX

_SAME_NAMES = ("image", "gpu_count", "billing_mode", "data_disk_gb", "term", "payment", "signature")


def read_wishes(wanted: dict[str, Any]) -> dict[str, Any]:
    """From a checked `schema.QuoteIn` the arguments of `create_quote`; null is the same as left out."""
    wishes = {name: value for name, value in wanted.items() if value is not None}
    wishes["offer_id"] = parse_public_id(OFFER_PREFIX, wishes.pop("offer"))
    if "max_price" in wishes:
        wishes["max_price_micros"] = parse_money(wishes.pop("max_price"))
    return wishes


def read_expected(wanted: dict[str, Any]) -> Expected:
    """From a checked `schema.InstanceIn` what the quote must say."""
    offer, most = wanted.get("offer"), wanted.get("max_total")
    return Expected(
        offer_id=None if offer is None else parse_public_id(OFFER_PREFIX, offer),
        max_total_micros=None if most is None else parse_money(most),
        **{name: wanted.get(name) for name in _SAME_NAMES},
    )
