"""API of the public price history of an offer's spot market."""

from datetime import datetime
from typing import Annotated

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from common.http.resource_schemas import schema_of
from common.http.views import PublicView, validated
from common.ids import parse_public_id
from common.money import format_money, money_or_none
from common.resources import resource
from marketplace.spot_market.selectors import SpotPoint, spot_history, spot_lately
from marketplace.web.pricing.serializers import HistoryQuery


@resource
class SpotChange:
    """Spot price per GPU-hour from a point in time."""

    at: datetime
    price: str
    supply: Annotated[int, "GPUs available to spot instances"]
    demand: Annotated[int, "GPUs requested by bids at or above the floor"]


@resource
class SpotHistoryOut:
    """The spot market of one offer; prices are per GPU-hour."""

    currency: str
    floor: Annotated[str | None, "null: this offer has no spot market"]
    now: str | None
    low_24h: str | None
    high_24h: str | None
    changes: Annotated[list[SpotChange], "Oldest first; the first is the price at the start of the period; at most 1,000"]


class SpotPricesView(PublicView):
    """Return the current and past spot prices of an offer."""

    @extend_schema(operation_id="offers_spot_prices", parameters=[HistoryQuery], responses=schema_of(SpotHistoryOut))
    def get(self, request: Request, offer_id: str) -> Response:
        key, days = parse_public_id("offr", offer_id), validated(HistoryQuery, request.query_params)["days"]
        lately, changes = spot_lately(key), [_change(point) for point in spot_history(key, days=days)]
        return Response(
            SpotHistoryOut(
                currency=settings.MARKET_CURRENCY,
                floor=money_or_none(lately.floor_micros),
                now=money_or_none(lately.now_micros),
                low_24h=money_or_none(lately.low_micros),
                high_24h=money_or_none(lately.high_micros),
                changes=changes,
            )
        )


def _change(point: SpotPoint) -> SpotChange:
    return SpotChange(at=point.at, price=format_money(point.price_micros), supply=point.supply, demand=point.demand)
