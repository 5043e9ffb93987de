"""Template contexts of timers, weekly schedules, queue positions and data retention."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from billing.ledger.selectors import wallet_of
from common import clock
from instances.constants import KEEP_DAYS, LINE_LONGEST
from instances.core.selectors import instance_of
from instances.core.timer_selectors import idle_stop_times
from instances.models import Instance
from instances.retention.data_retention import KeepPrice, keep_price, kept_gb
from instances.schedules.recurrence import DAYS, Occurrence
from instances.schedules.timers import next_occurrence
from instances.states import InstanceState
from instances.web.schedules.forms import DAY_LABELS, ScheduleForm
from marketplace.spot_market.selectors import QueuePosition
from marketplace.spot_market.services import view_spot_market

SCHEDULE_LABELS: Final[Mapping[str, str | Promise]] = {
    "schedule_set": _("Schedule changed"),
    "schedule_failed": _("Scheduled action failed"),
    "timed_stop": _("Stopped on schedule"),
    "weekly_stop": _("Stopped by the weekly schedule"),
    "weekly_start": _("Started on schedule"),
    "timed_release": _("Released on schedule"),
    "timed_release_locked": _("Scheduled release blocked by release protection"),
    "idle_stop": _("Stopped: idle"),
    "locked": _("Release protection turned on"),
    "unlocked": _("Release protection turned off"),
    "line_left": _("Left the GPU queue"),
    "data_kept": _("Data retention extended"),
}
_EVERY_DAY: Final = list(range(len(DAYS)))


@dataclass(frozen=True)
class WeekRow:
    """One entry of the week in words."""

    action: str
    days: list[str | Promise]
    time: str
    daily: bool


@dataclass(frozen=True)
class ScheduleSummary:
    """Schedule of an instance for its page; `until` is when its place in the queue ends."""

    coming: Occurrence | None
    week: list[WeekRow]
    idle_stops_at: datetime | None
    being_freed: bool
    until: datetime | None

    @property
    def any(self) -> bool:
        return bool(self.week)


def schedule_summary(instance: Instance, place: QueuePosition | None, now: datetime) -> ScheduleSummary:
    week = [
        WeekRow(row["action"], [DAY_LABELS[day] for day in row["days"]], row["time"], row["days"] == _EVERY_DAY)
        for row in instance.weekly
    ]
    return ScheduleSummary(
        coming=next_occurrence(instance, now),
        week=week,
        idle_stops_at=idle_stop_times([instance]).get(instance.pk),
        being_freed=place is not None and _is_served_soon(instance),
        until=None if place is None else place.since + LINE_LONGEST,
    )


def _is_served_soon(instance: Instance) -> bool:
    """Return whether spot rents are being stopped for it, so that it need not wait for others to end."""
    return any(claim.pk == instance.pk for claim in view_spot_market(instance.offer_id).claims)


def gpus_are_taken(instance: Instance) -> bool:
    """Return whether a start now would have to wait for GPUs."""
    idle = instance.state in (InstanceState.STOPPED, InstanceState.FAILED)
    if not idle or instance.holds_gpus or instance.billing_mode == "spot":
        return False
    return instance.offer.gpu_free + instance.offer.gpu_spot < instance.gpu_count


def schedule_context(renter: User, instance_id: UUID, params: Any, zone: str) -> dict[str, Any]:
    """Return the context of the schedule form, or raise NotFound.

    With `params` None, the form shows the present settings.
    """
    instance = instance_of(renter, instance_id)
    return {"instance": instance, "form": ScheduleForm(params, instance=instance, zone=zone)}


def keep_context(renter: User, instance_id: UUID) -> dict[str, Any]:
    """Return the context of keeping data: the price of each choice and the wallet; or raise NotFound."""
    instance, now = instance_of(renter, instance_id), clock.now()
    prices: list[KeepPrice] = []
    if "keep" in instance.actions:
        prices = [keep_price(instance, days=days) for days in KEEP_DAYS]
    wallet = wallet_of(owner_id=renter.pk, now=now)
    return {"instance": instance, "prices": prices, "gb": kept_gb(instance), "wallet": wallet}
