"""Requests and responses of the wait list."""

from datetime import datetime
from typing import Annotated, Any

from rest_framework import serializers

from common.http.fields import AmountText, NameText
from common.ids import public_id
from common.money import format_money, money_or_none
from common.resources import OneOf, resource
from instances.models import Watch
from instances.states import WatchAction, WatchState
from instances.wait_list.messages import REASONS
from instances.web.resources import INSTANCE_PREFIX, OFFER_PREFIX
from marketplace.constants import DATA_DISK_GB_MAX

Text, Whole = serializers.CharField, serializers.IntegerField


class WatchIn(serializers.Serializer[Any]):
    """A waitlist entry.

    Renting automatically requires an image (here or in the search) and a max price.
    """

    q = Text(max_length=500, allow_blank=True, help_text="What to wait for, as a search query")
    action = serializers.ChoiceField(choices=WatchAction.values, default=WatchAction.TELL)
    image = Text(required=False, default="", allow_blank=True, help_text="Slug or img_…; default: as in the search")
    max_price = AmountText(required=False, allow_null=True, default=None, help_text="Max price per GPU-hour, disk included")
    data_disk_gb = Whole(
        min_value=0, max_value=DATA_DISK_GB_MAX, allow_null=True, default=None, help_text="Default: as in the search"
    )
    ssh_key_ids = serializers.ListField(
        child=Text(), required=False, allow_null=True, max_length=100, help_text="key_…; default: all keys of the account"
    )
    name = NameText(max_length=80, allow_blank=True, default="", help_text="Name of the rented instance")
    expires_in_hours = Whole(min_value=1, max_value=720, default=168)


@resource
class WatchOut:
    """A waitlist entry and its outcome."""

    id: str
    q: str
    action: Annotated[str, OneOf(WatchAction.values)]
    state: Annotated[str, OneOf(WatchState.values)]
    ahead: Annotated[int | None, "Number of entries ahead of it; null once it no longer waits"]
    gpu_count: int
    image: str | None
    max_price: Annotated[str | None, "Per GPU-hour, disk included"]
    data_disk_gb: int
    name: str
    held: Annotated[str, "On hold for it now: one hour of all its GPUs at the max price"]
    offer: Annotated[str | None, "The offer that became available"]
    instance: Annotated[str | None, "The rented instance"]
    reason: Annotated[str | None, "Why it failed: " + ", ".join(REASONS)]
    created_at: datetime
    expires_at: datetime
    ended_at: datetime | None


WATCH_PREFIX = "watch"


def watch_resource(watch: Watch, ahead: int, held_micros: int) -> WatchOut:
    """Return a wait-list entry; its image must be loaded."""
    waits = watch.state == WatchState.WAITING
    return WatchOut(
        id=public_id(WATCH_PREFIX, watch.pk),
        q=watch.line,
        action=watch.action,
        state=watch.state,
        ahead=ahead if waits else None,
        gpu_count=watch.gpu_count,
        image=watch.image.slug if watch.image else None,
        max_price=money_or_none(watch.max_price_micros),
        data_disk_gb=watch.data_disk_gb,
        name=watch.name,
        held=format_money(held_micros),
        offer=public_id(OFFER_PREFIX, watch.offer_id) if watch.offer_id else None,
        instance=public_id(INSTANCE_PREFIX, watch.instance_id) if watch.instance_id else None,
        reason=watch.detail or None,
        created_at=watch.created_at,
        expires_at=watch.expires_at,
        ended_at=watch.ended_at,
    )
