"""OpenAPI schemas of an instance's billing and of changing it."""

from typing import Any

from rest_framework import serializers

from common.http.fields import AmountText
from instances.states import BidState
from marketplace.pricing.prices import TERM_HOURS

Text, Time, Whole, Number = (
    serializers.CharField,
    serializers.DateTimeField,
    serializers.IntegerField,
    serializers.FloatField,
)


class Expectations(serializers.Serializer[Any]):
    """What you believe the quote to say; the order is refused if it differs."""

    max_total = AmountText(required=False, allow_null=True, help_text="Refused when due_now or projected_total is more")
    signature = Text(required=False, allow_null=True, max_length=128, help_text="As the quote has it")


class ConvertIn(Expectations):
    """A change of the billing mode."""

    quote_id = Text(help_text="quot_…, made for this instance")
    auto_renew = serializers.BooleanField(default=False, help_text="Of a reserved term: again at its end, at the price then")


class ExtendIn(Expectations):
    """A renewal of the term ahead, or automatically at its end, or both."""

    quote_id = Text(required=False, allow_null=True, help_text="quot_…: the renewal; it begins when the present term ends")
    auto_renew = serializers.BooleanField(required=False, allow_null=True, default=None)


class StopIn(serializers.Serializer[Any]):
    """How to stop."""

    hold = serializers.BooleanField(
        default=False, help_text="Keep its GPUs at billing.hold_fee an hour; a reserved term keeps them anyway"
    )


class InstanceTerm(serializers.Serializer[Any]):
    """A reserved term."""

    term = serializers.ChoiceField(choices=list(TERM_HOURS))
    payment = serializers.ChoiceField(choices=["upfront", "none"])
    hourly_rate = Text()
    total = Text(help_text="Of the whole term, used or not")
    starts_at = Time(allow_null=True, help_text="null: it begins with the first run, or when the present term ends")
    ends_at = Time(allow_null=True)
    auto_renew = serializers.BooleanField()


class InstanceNextStep(serializers.Serializer[Any]):
    """When a tiered rent gets cheaper."""

    from_hours = Whole(help_text="Of continuous use; a stop of more than 24 hours begins again at 0")
    hourly_rate = Text()
    used_hours = Number()
    in_hours = Number()
    at = Time(allow_null=True, help_text="If it runs on until then; null while it is stopped")


class InstanceSpot(serializers.Serializer[Any]):
    """The bid of a spot rent; prices per GPU and hour."""

    max_price = Text()
    price = Text(allow_null=True, help_text="What it pays now; null while it waits")
    state = serializers.ChoiceField(choices=BidState.values)
    notice_at = Time(allow_null=True)
    yields_at = Time(allow_null=True, help_text="Its GPUs go to others then; at least 120 s after the notice")


class BidIn(serializers.Serializer[Any]):
    """Another maximum of the bid."""

    max_price = AmountText(help_text="Per GPU and hour, the offer's floor at least")


class InstanceBilling(serializers.Serializer[Any]):
    """What the instance costs, and how it is billed."""

    mode = Text()
    hourly_rate = Text(help_text="Of its GPUs, at present; of a run without GPUs what that costs")
    cpu_hourly_rate = Text(help_text="What a start without its GPUs costs an hour: `start` with mode=cpu")
    disk_daily = Text(help_text="Of the data disk above the free quota, running or stopped")
    max_price = Text(allow_null=True, help_text="Of a spot rent: per GPU and hour")
    spot = InstanceSpot(allow_null=True)
    term = InstanceTerm(allow_null=True)
    next_term = InstanceTerm(allow_null=True)
    next_step = InstanceNextStep(allow_null=True)
    keeps_gpus = serializers.BooleanField(help_text="Stopped, with its GPUs kept")
    hold_fee = Text(allow_null=True, help_text="What keeping its GPUs while it is stopped costs an hour")
    cost_so_far = Text(help_text="A term that was paid upfront counts whole while it runs")
    next_charge_at = Time(allow_null=True)
