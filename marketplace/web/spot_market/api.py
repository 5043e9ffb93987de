"""API of the public price history of an offer's spot market."""

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from common.http.views import PublicView, checked
from common.ids import parse_public_id
from common.money import format_money
from marketplace.spot_market.selectors import SpotLately, SpotPoint, spot_history, spot_lately
from marketplace.web.pricing.serializers import HistoryQuery


class SpotChange(serializers.Serializer[Any]):
    """Spot price per GPU and hour from a moment on."""

    at = serializers.DateTimeField()
    price = serializers.CharField()
    supply = serializers.IntegerField(help_text="GPUs available to spot instances")
    demand = serializers.IntegerField(help_text="GPUs requested by bids at or above the floor")


class SpotHistoryOut(serializers.Serializer[Any]):
    """The spot market of one offer; prices are per GPU and hour."""

    currency = serializers.CharField()
    floor = serializers.CharField(allow_null=True, help_text="null: this offer has no spot market")
    now = serializers.CharField(allow_null=True)
    low_24h = serializers.CharField(allow_null=True)
    high_24h = serializers.CharField(allow_null=True)
    changes = SpotChange(many=True, help_text="Oldest first; the first is the price valid before; at most 1,000")


class SpotPricesView(PublicView):
    """Return the spot prices of an offer, now and before."""

    @extend_schema(operation_id="offers_spot_prices", parameters=[HistoryQuery], responses=SpotHistoryOut)
    def get(self, request: Request, offer_id: str) -> Response:
        key, days = parse_public_id("offr", offer_id), checked(HistoryQuery, request.query_params)["days"]
        changes = [_change(point) for point in spot_history(key, days=days)]
        return Response({"currency": settings.MARKET_CURRENCY, **_lately(spot_lately(key)), "changes": changes})


def _lately(lately: SpotLately) -> dict[str, str | None]:
    found = {
        "floor": lately.floor_micros,
        "now": lately.now_micros,
        "low_24h": lately.low_micros,
        "high_24h": lately.high_micros,
    }
    return {name: None if micros is None else format_money(micros) for name, micros in found.items()}


def _change(point: SpotPoint) -> dict[str, Any]:
    return {
        "at": point.at,
        "price": format_money(point.price_micros),
        "supply": point.supply,
        "demand": point.demand,
    }
