"""Serializers of offers and hosts, for the API and the OpenAPI document."""

from datetime import datetime
from typing import Any

from rest_framework import serializers

from common.http.fields import AmountText, NameText
from common.resources import resource
from marketplace.constants import MAX_TIERS, TIER_HOURS_MAX

_DISCOUNT = r"^0(\.[0-9]{1,4})?$"
_SHARE = r"^(0(\.[0-9]{1,4})?|1(\.0{1,4})?)$"


class ReservedDiscounts(serializers.Serializer[Any]):
    """Discount of each term on the hourly price, such as "0.2"; null means not offered."""

    day = serializers.RegexField(_DISCOUNT, required=False, allow_null=True)
    week = serializers.RegexField(_DISCOUNT, required=False, allow_null=True)
    month = serializers.RegexField(_DISCOUNT, required=False, allow_null=True)
    year = serializers.RegexField(_DISCOUNT, required=False, allow_null=True)
    year3 = serializers.RegexField(_DISCOUNT, required=False, allow_null=True)


class TierDiscount(serializers.Serializer[Any]):
    """Discount that applies after this many hours of continuous use."""

    from_hours = serializers.IntegerField(min_value=1, max_value=TIER_HOURS_MAX)
    discount = serializers.RegexField(_DISCOUNT)


class ListingChange(serializers.Serializer[Any]):
    """New prices or listing of one offer; omitted fields stay unchanged."""

    id = serializers.CharField(help_text="Of the offer")
    price_hourly = AmountText(required=False)
    listed = serializers.BooleanField(required=False)
    reserved_discounts = ReservedDiscounts(required=False, help_text="Omitted terms are unchanged")
    tiers = TierDiscount(  # type: ignore[call-arg]  # the list around it takes max_length
        many=True, required=False, max_length=MAX_TIERS, help_text="Replaces all steps; in ascending order"
    )
    spot_floor = AmountText(required=False, allow_null=True, help_text="null: no spot market")
    disk_gb_day = AmountText(required=False, help_text="Per GB-day above the free allowance")
    hold_share = serializers.RegexField(_SHARE, required=False, help_text='Share of the hourly price, "0" to "1"')


class Listing(serializers.Serializer[Any]):
    """Changes to a host's offers and its end date, applied all or none."""

    offers = ListingChange(many=True, required=False, allow_empty=False)
    listed_until = serializers.DateTimeField(
        required=False, allow_null=True, help_text="null: no end date. Can't be before the committed end of existing leases"
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError({"offers": [serializers.ErrorDetail("Name at least one change.", "required")]})
        return attrs


class Maintenance(serializers.Serializer[Any]):
    """Whether the host accepts new rentals."""

    draining = serializers.BooleanField(help_text="true: pause new rentals; running instances continue")


class JoinTokenIn(serializers.Serializer[Any]):
    """A host to add."""

    host_name = NameText(max_length=80)
    region = NameText(max_length=40)
    price_hourly = AmountText(help_text="Initial price per GPU-hour; 0 keeps offers unlisted")


@resource
class JoinToken:
    """A single-use token; `token` and `command` are shown once and null when the response is repeated."""

    id: str
    host_name: str
    region: str
    price_hourly: str
    expires_at: datetime
    token: str | None
    command: str | None
