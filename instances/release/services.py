"""Release: the end of an instance and its data.

It is gone when the host has proven that nothing is left.
"""

from datetime import datetime
from uuid import UUID

from accounts.models import User
from billing.constants import DISK_SOURCE, HOLD_SOURCE, RETENTION_SOURCE
from billing.metering.escrow import lock_parties
from billing.metering.meters import cap_meter
from billing.pricing.estimates import RESERVED
from billing.standing.selectors import announced_releases
from common import clock
from common.db.transactions import use_case
from common.errors import StaleRow
from common.messages.message import Message
from instances.billing_mode.term_expiry import end_terms_early
from instances.constants import RETENTION
from instances.core.event_messages import RetentionOver
from instances.core.selectors import any_instance, instance_of
from instances.core.transitions import NO_PROGRESS, RENTER, SYSTEM, change_state, check_lock, retry_stale, touch_host
from instances.metering.meters import cap_use
from instances.metering.reserved_terms import payee_of
from instances.models import Instance
from instances.retention.archive import record_missing_archive
from instances.retention.selectors import is_archive_awaited, is_archive_wanted
from instances.spot.bid_changes import leave_queue
from instances.states import Desired, InstanceState
from instances.volumes.attach import check_not_restoring
from storage.object_sync.syncs import cancel_syncs_of
from storage.volumes.selectors import is_being_restored


def release_instance(*, renter: User, instance_id: UUID) -> Instance:
    """Release an instance for its renter; repeating it changes nothing.

    A reserved term is ended early and settled first; what that costs beyond deposit and wallet is owed. Raises
    Locked, or VolumeBusy while a snapshot is being restored.
    """

    def attempt() -> Instance:
        instance = instance_of(renter, instance_id)
        check_lock(instance)
        if "release" in instance.actions:
            check_not_restoring(instance)
            _release(instance, kind="release_asked", actor=RENTER, detail=None)
        return instance

    with use_case():
        return retry_stale(attempt)


def expire_instance(*, instance_id: UUID) -> bool:
    """Release an instance whose retention is over; return False when it is not to be released now.

    It is never released before the date that the renter was told, whatever the instance's own row says. It also waits
    for a restore or an archive in progress.
    """
    try:
        with use_case():
            instance = any_instance(instance_id)
            due = instance.release_at is not None and instance.release_at <= clock.now()
            announced = announced_releases([instance_id]).get(instance_id)
            if not due or (announced is not None and announced > clock.now()):
                return False
            if instance.state not in (InstanceState.STOPPED, InstanceState.FAILED):
                return False
            if is_being_restored(instance_id) or is_archive_awaited(instance, clock.now()):
                return False
            if is_archive_wanted(instance):
                record_missing_archive(instance)
            detail = RetentionOver(days=RETENTION.days)
            _release(instance, kind="retention_over", actor=SYSTEM, detail=detail)
    except StaleRow:
        return False
    return True


def _release(instance: Instance, *, kind: str, actor: str, detail: Message | None) -> None:
    if instance.billing_mode == RESERVED:
        lock_parties(renter_id=instance.renter_id, host_owner_id=payee_of(instance))
        end_terms_early(instance, actor=actor)
    cancel_syncs_of(subject=instance.pk)
    cap_use(instance)
    _cap_storage(instance, clock.now())
    leave_queue(instance=instance)
    change_state(
        instance,
        InstanceState.RELEASING,
        kind=kind,
        actor=actor,
        detail=detail,
        desired=Desired.GONE,
        stop_requested_at=instance.stop_requested_at or clock.now(),
        release_at=None,
        **NO_PROGRESS,
    )
    touch_host(instance)


def _cap_storage(instance: Instance, now: datetime) -> None:
    """Cap the meters of disk, kept GPUs and retained data at the request, however long the host takes."""
    for source_kind in (DISK_SOURCE, HOLD_SOURCE, RETENTION_SOURCE):
        cap_meter(source_kind=source_kind, source_id=instance.pk, at=now)
