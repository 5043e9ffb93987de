"""API of an offer's public price history."""

from datetime import date as Day
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
from marketplace.pricing.selectors import PriceDay, PricePoint, daily_prices, price_history
from marketplace.web.pricing.serializers import HistoryQuery


@resource
class PriceDayOut:
    """Prices per GPU-hour on one day (UTC)."""

    date: Day
    low: str
    high: str
    last: str


@resource
class PriceChange:
    """Price per GPU-hour from a point in time."""

    at: datetime
    hourly: str
    spot_floor: str | None


@resource
class HistoryOut:
    """Prices for new rentals, oldest first, starting with the first price."""

    currency: str
    days: list[PriceDayOut]
    changes: Annotated[list[PriceChange], "The first is the price at the start of the period; at most the latest 1,000"]


class OfferPricesView(PublicView):
    """Return the price history of an offer, by day and by change."""

    @extend_schema(operation_id="offers_prices", parameters=[HistoryQuery], responses=schema_of(HistoryOut))
    def get(self, request: Request, offer_id: str) -> Response:
        key, days = parse_public_id("offr", offer_id), validated(HistoryQuery, request.query_params)["days"]
        shown = [_day(day) for day in daily_prices(key, days=days)]
        changes = [_change(point) for point in price_history(key, days=days)]
        return Response(HistoryOut(currency=settings.MARKET_CURRENCY, days=shown, changes=changes))


def _day(day: PriceDay) -> PriceDayOut:
    return PriceDayOut(
        date=day.day,
        low=format_money(day.low_micros),
        high=format_money(day.high_micros),
        last=format_money(day.last_micros),
    )


def _change(point: PricePoint) -> PriceChange:
    return PriceChange(
        at=point.at, hourly=format_money(point.price_micros), spot_floor=money_or_none(point.spot_floor_micros)
    )
