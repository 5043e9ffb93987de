"""OpenAPI schemas of the wait list."""

from typing import Any

from rest_framework import serializers

from common.http.fields import AmountText, NameText
from instances.states import WatchAction, WatchState
from instances.wait_list.messages import REASONS
from marketplace.constants import DATA_DISK_GB_MAX

Text, Time, Whole = serializers.CharField, serializers.DateTimeField, serializers.IntegerField


class WatchIn(serializers.Serializer[Any]):
    """An entry of the wait list.

    To rent, it needs an image (here or in the search) and a highest price.
    """

    q = Text(max_length=500, allow_blank=True, help_text="What to wait for, as in the search line of the market")
    action = serializers.ChoiceField(choices=WatchAction.values, default=WatchAction.TELL)
    image = Text(required=False, default="", allow_blank=True, help_text="Slug or img_…; left out: as in the search")
    max_price = AmountText(
        required=False, allow_null=True, default=None, help_text="The most per GPU and hour, disk included"
    )
    data_disk_gb = Whole(
        min_value=0, max_value=DATA_DISK_GB_MAX, allow_null=True, default=None, help_text="Left out: as in the search"
    )
    ssh_key_ids = serializers.ListField(
        child=Text(), required=False, allow_null=True, max_length=100, help_text="key_…; left out: all of the account"
    )
    name = NameText(max_length=80, allow_blank=True, default="", help_text="Of the instance that is rented")
    expires_in_hours = Whole(min_value=1, max_value=720, default=168)


class WatchOut(serializers.Serializer[Any]):
    """An entry of the wait list, and what became of it."""

    id = Text()
    q = Text(allow_blank=True)
    action = serializers.ChoiceField(choices=WatchAction.values)
    state = serializers.ChoiceField(choices=WatchState.values)
    ahead = Whole(allow_null=True, help_text="How many waiting places are before it; null when it waits no more")
    gpu_count = Whole()
    image = Text(allow_null=True)
    max_price = Text(allow_null=True, help_text="Per GPU and hour, disk included")
    data_disk_gb = Whole()
    name = Text(allow_blank=True)
    held = Text(help_text="Set aside for it now: one hour of all its GPUs at the highest price")
    offer = Text(allow_null=True, help_text="Where it was served")
    instance = Text(allow_null=True, help_text="What was rented")
    reason = Text(allow_null=True, help_text="Why it failed: " + ", ".join(REASONS))
    created_at = Time()
    expires_at = Time()
    ended_at = Time(allow_null=True)
