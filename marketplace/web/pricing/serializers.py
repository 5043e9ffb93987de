"""Serializers of requests for a price history."""

from typing import Any

from rest_framework import serializers

from marketplace.constants import PRICE_HISTORY_DAYS


class HistoryQuery(serializers.Serializer[Any]):
    """Number of days."""

    days = serializers.IntegerField(
        min_value=1, max_value=PRICE_HISTORY_DAYS, default=PRICE_HISTORY_DAYS, help_text="Number of days, including today"
    )
