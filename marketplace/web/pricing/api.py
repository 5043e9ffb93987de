"""API of an offer's public price history."""

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from common.http.views import PublicView, checked
from common.ids import parse_public_id
from common.money import format_money
from marketplace.pricing.selectors import PriceDay, PricePoint, daily_prices, price_history
from marketplace.web.pricing.serializers import HistoryQuery


class PriceDayOut(serializers.Serializer[Any]):
    """Prices per GPU-hour on one day (UTC)."""

    date = serializers.DateField()
    low = serializers.CharField()
    high = serializers.CharField()
    last = serializers.CharField()


class PriceChange(serializers.Serializer[Any]):
    """Price of a GPU-hour from a moment on."""

    at = serializers.DateTimeField()
    hourly = serializers.CharField()
    spot_floor = serializers.CharField(allow_null=True)


class HistoryOut(serializers.Serializer[Any]):
    """Prices of new rents, oldest first, without days before the first price."""

    currency = serializers.CharField()
    days = PriceDayOut(many=True)
    changes = PriceChange(many=True, help_text="The first is the price valid before; at most the latest 1,000")


class OfferPricesView(PublicView):
    """Return the price history of an offer, by day and by change."""

    @extend_schema(operation_id="offers_prices", parameters=[HistoryQuery], responses=HistoryOut)
    def get(self, request: Request, offer_id: str) -> Response:
        key, days = parse_public_id("offr", offer_id), checked(HistoryQuery, request.query_params)["days"]
        shown = [_day(day) for day in daily_prices(key, days=days)]
        changes = [_change(point) for point in price_history(key, days=days)]
        return Response({"currency": settings.MARKET_CURRENCY, "days": shown, "changes": changes})


def _day(day: PriceDay) -> dict[str, Any]:
    return {
        "date": day.day,
        "low": format_money(day.low_micros),
        "high": format_money(day.high_micros),
        "last": format_money(day.last_micros),
    }


def _change(point: PricePoint) -> dict[str, Any]:
    floor = point.spot_floor_micros
    return {
        "at": point.at,
        "hourly": format_money(point.price_micros),
        "spot_floor": None if floor is None else format_money(floor),
    }
