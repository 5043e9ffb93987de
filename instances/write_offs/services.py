"""Settlement of written-off hosts: instances end, money is settled, renters are mailed."""

import logging
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from billing.constants import DISK_SOURCE, HOLD_SOURCE, RETENTION_SOURCE
from billing.metering.escrow import lock_parties
from billing.metering.host_fault_credits import credit_source
from billing.metering.meters import close_meter
from billing.pricing.estimates import RESERVED
from common import clock
from common.db.transactions import use_case
from common.errors import DomainError, StaleRow
from common.ids import public_id
from common.messages.rendering import columns
from instances.billing_mode.term_expiry import end_terms_of_lost_host
from instances.constants import HOST_WRITTEN_OFF
from instances.core.event_messages import WrittenOff
from instances.core.host_ports import free_ports
from instances.core.transitions import NO_PROGRESS, SYSTEM, change_state
from instances.core.write_off_selectors import has_instances, instances_to_end
from instances.host_reports.operation_results import apply_results
from instances.lifecycle.host_faults import record_fault, record_refund
from instances.lifecycle.meter_closing import close_use_of
from instances.metering.meters import close_use
from instances.metering.reserved_terms import locked_with_wallets, payee_of
from instances.models import Instance
from instances.spot.bid_changes import leave_queue
from instances.spot.bids import bid_of, end_bid
from instances.states import ENDING, INSTANCE_MACHINE, BidState, Desired, FaultOf, InstanceState, MoveState
from instances.transfers.selectors import open_transfer
from instances.volumes.transfers import cancel_awaited_transfers
from instances.write_offs.mail import queue_renter_mail
from marketplace.hosts.incidents import open_incident
from marketplace.hosts.write_offs import WRITTEN_OFF as REASON
from marketplace.hosts.write_offs import settle_write_off, write_offs_to_settle
from marketplace.incident_messages import stuck
from marketplace.leasing.lease import release_leases
from storage.object_sync.syncs import cancel_syncs_of
from storage.volumes.attachments import detach_all
from storage.volumes.write_offs import REFUND_REASON, end_storage_of_host, end_work_of_host, storage_left_on

if TYPE_CHECKING:
    from marketplace.models import HostWriteOff

logger = logging.getLogger(__name__)

_STORED: Final = (DISK_SOURCE, HOLD_SOURCE, RETENTION_SOURCE)


def settle_write_offs(*, now: datetime) -> int:
    """End what is left of hosts that were written off; return how many instances ended.

    This is a sweep. Each instance has a transaction of its own, with its mail. One that cannot end yet, since its
    transfer is still being reverted, is left to the next run.
    """
    ended = 0
    for written in write_offs_to_settle(now):
        apply_results(only=end_work_of_host(written.pk))
        since = written.last_seen_at
        ended += sum(_end(instance_id, written) for instance_id in instances_to_end(written.pk))
        end_storage_of_host(written.host, since=since)
        if not has_instances(written.pk) and not storage_left_on(written.pk):
            settle_write_off(host_id=written.pk, now=now)
    return ended


def _end(instance_id: UUID, written: "HostWriteOff") -> bool:
    """End one instance; an error does not stop the pass for the others.

    It is read after its wallets are locked, in the order in which GPUs are leased for it, so its state and host no
    longer change.
    """
    try:
        with use_case():
            instance = locked_with_wallets(instance_id)
            there = instance.host_id == written.pk and instance.state != InstanceState.GONE
            return there and _end_locked(instance, written.last_seen_at)
    except StaleRow:
        return False  # a report in progress, or its renter, changed it: the next run sees it
    except DomainError as error:
        logger.exception("instance %s of a written-off host is not ended", instance_id)
        open_incident(kind="write_off_stuck", subject=public_id("inst", instance_id), detail=stuck(error))
        return False


def _end_locked(instance: Instance, since: datetime) -> bool:
    """End one instance.

    Locks are taken in the documented order: wallets, leases with their offers, then the instance.
    """
    now = clock.now()
    found = open_transfer(instance.pk)
    moving = found is not None and found.state == MoveState.COPYING
    if moving and instance.state == InstanceState.COPYING:
        return False  # its operations have failed: the transfer is reverted first
    if found is not None and found.state == MoveState.STARTING and found.to_host_id == instance.host_id:
        return _fail_on_its_new_host(instance, now)
    if instance.state == InstanceState.COPYING and cancel_awaited_transfers(instance, actor=SYSTEM):
        return False
    given_back = _settle(instance, since, now)
    release_leases(holder=instance.pk, reason=REASON)
    message = WrittenOff(at=since)
    fault: dict[str, Any] = {
        "failure_code": HOST_WRITTEN_OFF,
        **columns("failure_detail", message),
        "fault_of": FaultOf.HOST,
    }
    if INSTANCE_MACHINE.allows(instance.state, InstanceState.FAILED):
        failed: dict[str, Any] = {"desired": Desired.STOPPED, "stopped_at": now, **NO_PROGRESS, **fault}
        change_state(instance, InstanceState.FAILED, kind=HOST_WRITTEN_OFF, actor=SYSTEM, detail=message, **failed)
    record_refund(instance, given_back)
    if instance.state not in ENDING:
        gone: dict[str, Any] = {
            "desired": Desired.GONE,
            "stop_requested_at": instance.stop_requested_at or now,
            "release_at": None,
        }
        change_state(instance, InstanceState.RELEASING, kind=HOST_WRITTEN_OFF, actor=SYSTEM, **gone, **fault)
    over: dict[str, Any] = {"released_at": now, "release_at": None, "holds_gpus": False, **fault}
    change_state(instance, InstanceState.GONE, kind="written_off", actor=SYSTEM, detail=message, **over)
    free_ports(instance_id=instance.pk)
    queue_renter_mail(instance, since=since)
    return True


def _fail_on_its_new_host(instance: Instance, now: datetime) -> bool:
    """Fail an instance that has not run here since its migration.

    Its transfer then reverts it to the former host, which still has its data.
    """
    if instance.state == InstanceState.FAILED:
        return False
    close_use_of(instance, host_failed=True)
    release_leases(holder=instance.pk, reason=REASON)
    fault = {"failure_code": HOST_WRITTEN_OFF, "fault_of": FaultOf.HOST, **columns("failure_detail", None)}
    ended: dict[str, Any] = {"desired": Desired.STOPPED, "stopped_at": now, **NO_PROGRESS, **fault}
    change_state(instance, InstanceState.FAILED, kind=HOST_WRITTEN_OFF, actor=SYSTEM, **ended)
    return False


def _settle(instance: Instance, since: datetime, now: datetime) -> int:
    """Settle all meters and holds, and return the micro-units refunded for its run.

    Meters that run by the clock end at the last report; charges for later time are refunded as for any fault of a
    host.
    """
    owner = payee_of(instance)
    if instance.billing_mode == RESERVED:
        lock_parties(renter_id=instance.renter_id, host_owner_id=owner)
    leave_queue(instance=instance)
    bid = bid_of(instance.pk)
    if bid is not None and bid.state != BidState.ENDED:
        end_bid(bid)
    close_use_of(instance, host_failed=True)
    fails = INSTANCE_MACHINE.allows(instance.state, InstanceState.FAILED)
    given_back = record_fault(instance, owner_id=owner, code=HOST_WRITTEN_OFF, at=now) if fails else 0
    end_terms_of_lost_host(instance)
    close_use(instance.pk)
    for source_kind in _STORED:
        close_meter(source_kind=source_kind, source_id=instance.pk, at=since)
        _refund(source_kind, instance.pk, since, now)
    cancel_syncs_of(subject=instance.pk)
    detach_all(holder=instance.pk)
    return given_back


def _refund(source_kind: str, source_id: UUID, since: datetime, now: datetime) -> None:
    credit_source(
        source_kind=source_kind,
        source_id=source_id,
        key=f"{source_kind}:{source_id.hex}:{HOST_WRITTEN_OFF}",
        since=since,
        until=now,
        reason=REFUND_REASON,
        actor=SYSTEM,
    )
