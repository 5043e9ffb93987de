"""API of the calculator.

It is public and stores nothing, so it takes no idempotency key and no dry run.
"""

from decimal import Decimal
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from billing.pricing.estimates import HOURLY, MODES, NO_UPFRONT, UPFRONT
from common.http.resource_schemas import schema_of
from common.http.views import PublicView, validated
from common.money import is_plain_decimal
from instances.constants import (
    ESTIMATE_GPUS_MAX,
    ESTIMATE_HOURS_MAX,
    ESTIMATE_PEAK_MAX,
    ESTIMATE_PRICE_MAX,
    ESTIMATE_STORAGE_MAX,
    ESTIMATE_TIERS_MAX,
)
from instances.pricing.examples import EstimateOut, EstimateRequest, TierIn, estimate_response
from marketplace.pricing.prices import TERM_HOURS

_PERCENT = 100
_PLACES = 6
_SHARE_PLACES = 8


class Amount(serializers.DecimalField):
    """A decimal number with at most six decimal places, as a string or a number, not negative."""

    def __init__(self, largest: int, **options: Any) -> None:
        super().__init__(max_digits=20, decimal_places=_PLACES, min_value=Decimal(), max_value=Decimal(largest), **options)

    def to_internal_value(self, data: Any) -> Decimal:
        if not is_plain_decimal(str(data)):
            self.fail("invalid")
        return super().to_internal_value(data)


@extend_schema_field(OpenApiTypes.STR)
class Share(serializers.Field):  # type: ignore[type-arg]  # not generic at run time
    """A share of one such as "0.58", or a percentage with its sign, such as "58%"."""

    default_error_messages = {"invalid": 'Write a share below one such as "0.58", or a percentage such as "58%".'}  # noqa: RUF012  # the framework's way

    def to_internal_value(self, data: Any) -> Decimal:
        text = str(data)
        number = text.removesuffix("%")
        if not is_plain_decimal(number):
            self.fail("invalid")
        value = Decimal(number) / (_PERCENT if text.endswith("%") else 1)
        if not 0 <= value < 1 or value != round(value, _SHARE_PLACES):
            self.fail("invalid")
        return value

    def to_representation(self, value: Any) -> str:
        return str(value)


class TierStep(serializers.Serializer[Any]):
    """A tier: a new price, or a discount on the first one, after a number of hours of continuous use."""

    from_hours = Amount(ESTIMATE_HOURS_MAX)
    unit_price = Amount(ESTIMATE_PRICE_MAX, required=False)
    discount = Share(required=False, help_text='"0.15" or "15%"')

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("unit_price" in attrs) == ("discount" in attrs):
            raise serializers.ValidationError("A step names either its unit_price or its discount.")
        return attrs


class EstimateIn(serializers.Serializer[Any]):
    """Prices per GPU-hour, and the workload."""

    billing_mode = serializers.ChoiceField(choices=list(MODES), default=HOURLY)
    modes = serializers.ListField(
        child=serializers.ChoiceField(choices=list(MODES)),
        default=list,
        max_length=2 * len(MODES),
        help_text="Modes to compare, with their break-even points; `discount` then applies to the reserved term",
    )
    unit_price = Amount(ESTIMATE_PRICE_MAX, help_text="Per GPU and hour")
    hours = Amount(ESTIMATE_HOURS_MAX)
    gpu_count = serializers.IntegerField(min_value=1, max_value=ESTIMATE_GPUS_MAX, default=1)
    discount = Share(default=Decimal(), help_text='Discount on the unit price: "0.58" or "58%"')
    tiers = TierStep(  # type: ignore[call-arg]  # the list around it takes max_length
        many=True, required=False, max_length=ESTIMATE_TIERS_MAX, help_text="For the tiered mode, in ascending order"
    )
    storage_total = Amount(ESTIMATE_STORAGE_MAX, default=Decimal(), help_text="Total storage cost, added to the result")
    peak_factor = Amount(ESTIMATE_PEAK_MAX, default=Decimal(1), help_text="Multiplies all costs, including storage")
    term = serializers.ChoiceField(
        choices=list(TERM_HOURS),
        required=False,
        allow_null=True,
        help_text="For the reserved mode; null: `hours` are charged",
    )
    payment = serializers.ChoiceField(choices=[UPFRONT, NO_UPFRONT], default=UPFRONT)
    spot_price = Amount(
        ESTIMATE_PRICE_MAX, required=False, allow_null=True, help_text="Current market price; default: the unit price"
    )
    floor = Amount(ESTIMATE_PRICE_MAX, required=False, allow_null=True, help_text="For the spot mode")
    max_price = Amount(ESTIMATE_PRICE_MAX, required=False, allow_null=True, help_text="For the spot mode")

    def validate_modes(self, modes: list[str]) -> list[str]:
        return list(dict.fromkeys(modes))


class EstimatesView(PublicView):
    """Estimate the cost of a workload in any billing mode, at any prices."""

    @extend_schema(operation_id="estimates_create", request=EstimateIn, responses=schema_of(EstimateOut))
    def post(self, request: Request) -> Response:
        wanted = validated(EstimateIn, request.data)
        tiers = tuple(TierIn(**step) for step in wanted.pop("tiers", ()))
        return Response(estimate_response(EstimateRequest(**wanted, tiers=tiers)))
