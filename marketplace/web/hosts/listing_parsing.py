"""Conversion of a request for listing changes to the service's arguments."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from common.ids import parse_public_id
from common.money import parse_money
from marketplace.hosts.offers import ListingChange, Until

_BPS: Final = 10_000


def read_listing(wanted: Mapping[str, Any]) -> tuple[list[ListingChange], Until | None]:
    """Return the changes in a validated `serializers.Listing`."""
    until = Until(wanted["listed_until"]) if "listed_until" in wanted else None
    return [_change(each) for each in wanted.get("offers", ())], until


def _change(wanted: Mapping[str, Any]) -> ListingChange:
    terms, tiers = wanted.get("reserved_discounts"), wanted.get("tiers")
    return ListingChange(
        offer_id=parse_public_id("offr", wanted["id"]),
        price_micros=_micros(wanted.get("price_hourly")),
        listed=wanted.get("listed"),
        reserved_discounts=None if terms is None else {term: share and _bps(share) for term, share in terms.items()},
        tiers=None if tiers is None else [(step["from_hours"], _bps(step["discount"])) for step in tiers],
        spot_floor_micros=_micros(wanted["spot_floor"] or "0") if "spot_floor" in wanted else None,
        disk_micros_gb_day=_micros(wanted.get("disk_gb_day")),
        hold_bps=_bps(wanted["hold_share"]) if "hold_share" in wanted else None,
    )


def _bps(share: str) -> int:
    """Return a share as basis points; shares have at most four places."""
    return int(Decimal(share) * _BPS)


def _micros(amount: str | None) -> int | None:
    return None if amount is None else parse_money(amount)
