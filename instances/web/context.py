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
from common.messages.message import Message
from instances.constants import ARCHIVE_TRIED, RETENTION
from instances.core.selectors import events_of, instance_of, instances_of
from instances.metering.costs import InstanceCost, costs_of_instances
from instances.models import Instance, InstanceEvent
from instances.retention.gpu_reservation import hold_fee
from instances.retention.selectors import archive_place
from instances.states import InstanceState
from instances.volumes.messages import MOUNT_EVENTS
from instances.web.access.serializers import InstanceAccess, access_resource
from instances.web.launch.context import LAUNCH_EVENTS, launch_context
from instances.web.lifecycle.context import ACTION_LABELS, changes_context
from instances.web.monitoring.context import ALERT_EVENTS, alert_rows
from instances.web.monitoring.usage_charts import RANGES
from instances.web.object_sync.context import SYNC_EVENTS
from instances.web.resources import health_of
from instances.web.schedules.context import SCHEDULE_LABELS, gpus_are_taken, schedule_summary
from instances.web.transfers.context import open_transfer_row
from instances.web.volumes.transfer_context import awaited_volumes
from marketplace.gpu_catalogue.catalogue import by_slug
from marketplace.reliability.selectors import coming_maintenance
from storage.images.selectors import pull_of

ROWS_ON_A_PAGE: Final = 20
EVENTS_SHOWN: Final = 60


@dataclass(frozen=True)
class Row:
    """One instance as the console shows it."""

    instance: Instance
    bill: InstanceCost
    access: InstanceAccess
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
    message: Message | None
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
        **launch_context(instance),
        "timers": schedule_summary(instance, row.bill.place, now),
        "move": open_transfer_row(instance),
        "arrivals": awaited_volumes(instance),
        "events": events,
        "template": instance.quote.template,
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
    bills = costs_of_instances(instances, now)
    return [
        Row(
            instance=instance,
            bill=bills[instance.pk],
            access=access_resource(instance, opens=True),
            health=health_of(instance, now),
            gpu=by_slug(instance.offer.gpu_model).name,
        )
        for instance in instances
    ]


EVENT_LABELS: Final[dict[str, str | Promise]] = {
    "rented": _("Rented"),
    "rented_from_wait_list": _("Rented for you from the waitlist, for this search"),
    "provisioning": _("Host is preparing the instance"),
    "running": _("Running: all GPUs are visible"),
    "stop_asked": _("Stop requested"),
    "start_asked": _("Start requested"),
    "restart_asked": _("Restart requested"),
    "release_asked": _("Release requested"),
    "image_asked": _("Save as image requested"),
    "stopped": _("Stopped; unused held funds were released"),
    "gpus_released": _("GPUs returned to the market"),
    "failed": _("Failed"),
    "gone": _("Released: nothing is left on the host"),
    "fault_reported": _("Problem reported: stopped, GPU use no longer charged"),
    "report_upheld": _("Report accepted"),
    "report_rejected": _("Report rejected: the instance was working"),
    "host_written_off": _("Host didn't come back and was written off"),
    "written_off": _("Ended with its host: time since the last report isn't billed"),
    "retention_over": _("Released: data was kept for 30 days after the stop"),
    "funds_exhausted": _("Stopped: out of funds"),
    "overdue": _("This step is taking longer than expected"),
    "account_switched_off": _("Stopped: account disabled"),
    "taken_over": _("Berth was restored from a backup: later changes were recovered from the host"),
    "stopped_since_backup": _("Berth was restored from a backup: stopped again, as it was before"),
    "foreign": _("Unexpected report from the host"),
    "converted": _("Billing mode changed"),
    "renewed_ahead": _("Reserved term renewed"),
    "auto_renew_on": _("Auto-renew turned on"),
    "auto_renew_off": _("Auto-renew turned off"),
    "term_renewed": _("Next reserved term started"),
    "renewal_failed": _("Reserved term couldn't be renewed"),
    "term_over": _("Reserved term ended"),
    "term_unpaid": _("Reserved term ended early: out of funds"),
    "keeping_unpaid": _("Kept GPUs released: out of funds"),
    "gpus_kept": _("Can be started again; its GPUs were kept"),
    "given_back": _("Refunded for a host failure: the last hour of the run"),
    "gpus_free": _("GPUs available: starting"),
    "bid_won": _("Bid accepted: starting"),
    "bid_changed": _("Max price changed"),
    "bid_withdrawn": _("Won't resume: stays stopped"),
    "bid_ended": _("Bid ended"),
    "preempt_notice": _("Interruption notice: its GPUs go to another renter"),
    "preempt_taken_back": _("Interruption notice withdrawn: keeps running"),
    "preempted": _("Interrupted"),
    "waits_for_gpus": _("Waiting for GPUs at the max price"),
    "keys_changed": _("SSH keys changed"),
    "keys_followed": _("SSH keys updated from your account"),
    "password_set": _("Password reset"),
    "password_cleared": _("Password removed"),
    "command_run": _("Command run through the API"),
    "command_cancelled": _("Command cancelled"),
    "addresses_changed": _("IP allowlist changed"),
    "ports_changed": _("Exposed ports changed"),
    "port_replaced": _("A port was in use on the host and has been replaced"),
    "clone_asked": _("Clone requested"),
    "cloned_from": _("Cloned from"),
    "cloned": _("Copied: starting"),
    "clone_made": _("Clone created"),
    "clone_failed": _("Cloning failed; you weren't charged"),
    "clone_cancelled": _("Cloning cancelled; you weren't charged"),
    "move_asked": _("Move to another host requested"),
    "moved": _("Copied to the new host: starting"),
    "move_done": _("Running on the new host; deleting the data on the old one"),
    "moved_back": _("Didn't start on the new host: stopped on the original host, unchanged"),
    "move_failed": _("Move failed; nothing was changed and you weren't charged"),
    "move_cancelled": _("Move cancelled; nothing was changed and you weren't charged"),
    "maintenance_announced": _("Maintenance scheduled"),
    "maintenance_cancelled": _("Maintenance cancelled"),
    **SCHEDULE_LABELS,
    **ALERT_EVENTS,
    **ACTION_LABELS,
    **MOUNT_EVENTS,
    **SYNC_EVENTS,
    **LAUNCH_EVENTS,
}


def _event_row(event: InstanceEvent) -> EventRow:
    words = EVENT_LABELS.get(event.kind, event.kind.replace("_", " "))
    return EventRow(at=event.at, words=words, detail=event.detail, message=event.message, to_state=event.to_state)
