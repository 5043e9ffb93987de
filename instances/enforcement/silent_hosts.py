"""Charging of data disks, kept GPUs and retained data, with pauses while their hosts are silent."""

from datetime import datetime
from uuid import UUID

from billing.constants import DISK_SOURCE, HOLD_SOURCE, RETENTION_SOURCE
from billing.metering.settle import settle_meters
from billing.pricing.estimates import HOURLY, TIERED
from common.db.transactions import use_case
from common.errors import StaleRow
from instances.core.selectors import with_paid_disks
from instances.core.silent_hosts import silent_instances
from instances.core.timer_selectors import retention_metered
from instances.metering.meters import open_disk, open_kept_gpus
from instances.metering.reserved_terms import locked_with_wallets, payee_of
from instances.models import Instance
from instances.retention.data_retention import resume_paid_retention
from instances.states import ENDING, InstanceState
from storage.operations.host_presence import has_reported
from storage.volumes.silent_hosts import pause_silent, pause_storage, paused, resume_storage

_KINDS = (DISK_SOURCE, HOLD_SOURCE, RETENTION_SOURCE)


def charge_meters(*, now: datetime) -> int:
    """Charge all meters, without the time on silent hosts, and return how many usage rows were written.

    This is a sweep. Silent hosts are looked for first, so that a settlement never charges the time of a silence that
    was not noticed.
    """
    pause_on_silent_hosts(now=now)
    return settle_meters(now=now)


def update_meters_of_silent_hosts(*, now: datetime) -> int:
    """Pause meters on silent hosts and resume them on those that report again; return how many.

    This is a sweep.
    """
    return pause_on_silent_hosts(now=now) + resume_storage(now=now) + _resume(now)


def pause_on_silent_hosts(*, now: datetime, host_id: UUID | None = None) -> int:
    """Pause the meters of instances and storage on all silent hosts, or on one.

    With `host_id` only that host is meant, which was silent until now and is about to report.
    """
    last_reports = silent_instances(now, host_id)
    ended = [pause_silent(source_kind=kind, last_reports=last_reports, now=now) for kind in _KINDS]
    return sum(ended) + pause_storage(now=now, host_id=host_id)


def _resume(now: datetime) -> int:
    disks = [_resume_disk(each, now) for each in paused(DISK_SOURCE, with_paid_disks(now))]
    kept = [_resume_kept_gpus(each, now) for each in paused(HOLD_SOURCE, keeps_gpus(now))]
    paid = [_resume_retention(each, now) for each in paused(RETENTION_SOURCE, retention_metered(now))]
    return sum(disks) + sum(kept) + sum(paid)


def _resume_disk(instance_id: UUID, now: datetime) -> bool:
    with use_case():
        instance = locked_with_wallets(instance_id)
        if instance.state in ENDING:
            return False
        open_disk(instance, at=now, payee_id=payee_of(instance))
    return True


def _resume_kept_gpus(instance_id: UUID, now: datetime) -> bool:
    with use_case():
        instance = locked_with_wallets(instance_id)
        if instance.state != InstanceState.STOPPED or not instance.holds_gpus:
            return False
        open_kept_gpus(instance, at=now, payee_id=payee_of(instance))
    return True


def _resume_retention(instance_id: UUID, now: datetime) -> bool:
    try:
        with use_case():
            return resume_paid_retention(locked_with_wallets(instance_id), at=now)
    except StaleRow:
        return False


def keeps_gpus(now: datetime) -> list[UUID]:
    """Return stopped instances that keep their GPUs for a fee, on hosts that have reported lately."""
    rows = Instance.objects.filter(has_reported(now), state=InstanceState.STOPPED, holds_gpus=True)
    return list(rows.filter(billing_mode__in=[HOURLY, TIERED]).order_by().values_list("pk", flat=True))
