"""Template contexts of instances in the console: rows, events and actions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from billing.ledger.selectors import wallet_of
from billing.metering.costs import Cost
from billing.pricing.estimates import HOURLY, TIERED
from common import clock
from instances.constants import ARCHIVE_TRIED, RETENTION
from instances.core.selectors import events_of, instance_of, instances_of
from instances.metering.costs import Bill, bills_of
from instances.models import Instance, InstanceEvent
from instances.retention.gpu_reservation import hold_fee
from instances.retention.selectors import archive_place
from instances.states import InstanceState
from instances.volumes.messages import MOUNT_EVENTS
from instances.web.lifecycle.context import ACTION_WORDS, changes_context
from instances.web.monitoring.context import ALERT_EVENTS, alert_rows
from instances.web.monitoring.usage_charts import RANGES
from instances.web.object_sync.context import SYNC_EVENTS
from instances.web.schedules.context import SCHEDULE_WORDS, gpus_are_taken, timers_of
from instances.web.serializers import access_shape, health_of
from instances.web.transfers.context import move_under_way
from instances.web.volumes.transfer_context import volumes_on_the_way
from marketplace.gpu_catalogue.catalogue import by_slug
from marketplace.reliability.selectors import coming_maintenance
from storage.images.selectors import pull_of

ROWS_ON_A_PAGE: Final = 20
EVENTS_SHOWN: Final = 60


@dataclass(frozen=True)
class Row:
    """One instance as the console shows it."""

    instance: Instance
    bill: Bill
    access: dict[str, Any]
    health: str
    gpu: str

    @property
    def cost(self) -> Cost:
        return self.bill.cost

    @property
    def is_running(self) -> bool:
        return self.instance.state == InstanceState.RUNNING

    @property
    def keep_fee_micros(self) -> int | None:
        """Return what keeping its GPUs while stopped would cost per hour, or None where that is not sold."""
        sold = self.instance.billing_mode in (HOURLY, TIERED) and not self.instance.runs_without_gpus
        keeps = sold and self.is_running
        return hold_fee(self.instance) if keeps else None

    @property
    def present_rate_micros(self) -> int:
        """Return what a start would cost per hour now.

        The offer's price may have changed since; kept GPUs keep their agreed price.
        """
        if self.instance.holds_gpus or self.instance.billing_mode not in (HOURLY, TIERED):
            return self.instance.rate_micros_per_hour
        return self.instance.offer.price_micros * self.instance.gpu_count

    @property
    def gpus_taken(self) -> bool:
        """Return whether a start now would have to wait for GPUs."""
        return gpus_are_taken(self.instance)

    @property
    def price_rose(self) -> bool:
        return self.present_rate_micros > self.instance.rate_micros_per_hour


@dataclass(frozen=True)
class EventRow:
    """One event in words, with the state that it led to."""

    at: datetime
    words: str | Promise
    detail: str
    to_state: str


def rows_of(renter: User, *, gone: bool, page: str | None) -> Page[Instance]:
    """Return a page of the renter's instances, either gone or others, whose `rows` are ready to show."""
    mine = instances_of(renter)
    chosen = mine.filter(state=InstanceState.GONE) if gone else mine.exclude(state=InstanceState.GONE)
    found = Paginator(chosen, ROWS_ON_A_PAGE).get_page(page)
    found.rows = _rows(list(found.object_list))  # type: ignore[attr-defined]  # a page that knows its rows
    return found


def list_context(renter: User, *, gone: bool, page: str | None) -> dict[str, Any]:
    found = rows_of(renter, gone=gone, page=page)
    return {"page": found, "rows": found.rows, "gone": gone, "now": clock.now()}  # type: ignore[attr-defined]  # as above


def instance_context(renter: User, instance_id: UUID) -> dict[str, Any]:
    instance = instance_of(renter, instance_id)
    events = [_event_row(event) for event in events_of(instance)[:EVENTS_SHOWN]]
    now = clock.now()
    row = _rows([instance])[0]
    return {
        "row": row,
        **changes_context(instance),
        "timers": timers_of(instance, row.bill.place, now),
        "move": move_under_way(instance),
        "arrivals": volumes_on_the_way(instance),
        "events": events,
        "alerts": alert_rows(renter, instance),
        "use_ranges": RANGES,
        "pull": pull_of(instance.pk),
        "archive_place": archive_place(instance),
        "archive_days": ARCHIVE_TRIED.days,
        "now": now,
        "retention_days": RETENTION.days,
        "wallet": wallet_of(owner_id=renter.pk, now=now),
        "maintenance": [] if instance.released_at else coming_maintenance([instance.host_id], now),
    }


def _rows(instances: Sequence[Instance]) -> list[Row]:
    now = clock.now()
    bills = bills_of(instances, now)
    return [
        Row(
            instance=instance,
            bill=bills[instance.pk],
            access=access_shape(instance, opens=True),
            health=health_of(instance, now),
            gpu=by_slug(instance.offer.gpu_model).name,
        )
        for instance in instances
    ]


EVENT_WORDS: Final[dict[str, str | Promise]] = {
    "rented": _("Rented"),
    "rented_from_wait_list": _("Rented for you from the wait list, for this search"),
    "provisioning": _("The host is preparing it"),
    "running": _("Running: every GPU is visible inside"),
    "stop_asked": _("You asked to stop it"),
    "start_asked": _("You asked to start it"),
    "restart_asked": _("You asked to restart it"),
    "release_asked": _("You asked to release it"),
    "image_asked": _("You asked to save it as an image"),
    "stopped": _("Stopped; what was not used of the held hour came back"),
    "gpus_released": _("Its GPUs are free for others again"),
    "failed": _("Failed"),
    "gone": _("Gone: nothing of it is left on the host"),
    "fault_reported": _("Reported as not working: stopped, and nothing is charged from then on"),
    "report_upheld": _("The operator agreed that it did not work"),
    "report_rejected": _("The operator found that it did work"),
    "host_written_off": _("Its host did not come back and was written off"),
    "written_off": _("Ended with its host: nothing is charged for the time since the host's last report"),
    "retention_over": _("Released: its data was kept for 30 days after the stop"),
    "funds_exhausted": _("Stopped: the wallet could not pay for another hour"),
    "overdue": _("This step takes longer than it should"),
    "account_switched_off": _("Stopped: the account was switched off"),
    "taken_over": _("The market was restored from a backup: what was ordered after that was taken over from the host"),
    "stopped_since_backup": _("The market was restored from a backup: it was stopped after that, so it is stopped again"),
    "foreign": _("The host reported something strange"),
    "converted": _("You changed how it is paid for"),
    "renewed_ahead": _("You renewed the reserved term"),
    "auto_renew_on": _("You asked that the reserved term renews itself"),
    "auto_renew_off": _("You asked that the reserved term does not renew itself"),
    "term_renewed": _("The next reserved term has begun"),
    "renewal_failed": _("The reserved term could not be renewed"),
    "term_over": _("The reserved term is over"),
    "term_unpaid": _("The reserved term ended early: the wallet could not pay for it"),
    "keeping_unpaid": _("Its GPUs were let go: the wallet could not pay for keeping them"),
    "gpus_kept": _("It can be started again; its GPUs stayed its own"),
    "given_back": _("Given back, since the host failed: what the last hour of the run cost"),
    "gpus_free": _("The GPUs that it waited for are free: it starts"),
    "bid_won": _("Its bid wins: it starts"),
    "bid_changed": _("You changed the most that you pay"),
    "bid_withdrawn": _("You asked that it stays stopped"),
    "bid_ended": _("Its bid has ended"),
    "preempt_notice": _("Notice: its GPUs go to others"),
    "preempt_taken_back": _("The notice was taken back: it goes on"),
    "preempted": _("Stopped to make room for others"),
    "waits_for_gpus": _("It waits until its bid wins again"),
    "keys_changed": _("You chose the SSH keys that let in"),
    "keys_followed": _("Its SSH keys changed with those of your account"),
    "password_set": _("You set a new password"),
    "password_cleared": _("You removed the password"),
    "addresses_changed": _("You changed the addresses that SSH answers"),
    "ports_changed": _("You changed its extra ports"),
    "port_replaced": _("One of its ports was taken on the host: it has another one"),
    "clone_asked": _("You asked to clone it"),
    "cloned_from": _("Rented as a clone of"),
    "cloned": _("Everything has been copied: it starts"),
    "clone_made": _("Its clone has been made"),
    "clone_failed": _("The clone could not be made; nothing was charged"),
    "clone_cancelled": _("The cloning was given up; nothing was charged"),
    "move_asked": _("You asked to move it to another host"),
    "moved": _("Everything has arrived on the new host: it starts there"),
    "move_done": _("It runs on its new host; what the old one had is being removed"),
    "moved_back": _("It did not run on the new host: it is stopped where it was, as it was"),
    "move_failed": _("It could not be moved; it is as it was, and nothing was charged"),
    "move_cancelled": _("The move was given up; it is as it was, and nothing was charged"),
    "maintenance_announced": _("Maintenance scheduled"),
    "maintenance_cancelled": _("The host's owner called the maintenance off"),
    **SCHEDULE_WORDS,
    **ALERT_EVENTS,
    **ACTION_WORDS,
    **MOUNT_EVENTS,
    **SYNC_EVENTS,
}


def _event_row(event: InstanceEvent) -> EventRow:
    words = EVENT_WORDS.get(event.kind, event.kind.replace("_", " "))
    return EventRow(at=event.at, words=words, detail=event.detail, to_state=event.to_state)
