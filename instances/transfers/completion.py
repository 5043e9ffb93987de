"""Completion of transfers: the target starts and the source is removed, or everything is as before."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from accounts.models import User
from common import change_counters, clock
from common.db.transactions import use_case
from common.errors import DomainError, IllegalTransition, StaleRow
from common.ids import public_id
from common.messages.message import Message, Name, of_row
from common.messages.rendering import columns
from common.transitions import move
from instances.constants import HOST_WRITTEN_OFF, RETENTION
from instances.core.capacity_hints import hint_waiting
from instances.core.selectors import any_instance, instance_of
from instances.core.transitions import (
    NO_PROGRESS,
    RENTER,
    RESET_FOR_NEW_RUN,
    SYSTEM,
    change_state,
    check_action,
    record_event,
    touch_host,
    touch_to_run,
)
from instances.metering.meters import close_disk, close_use, open_disk
from instances.metering.order_log import record_start_on_gpus
from instances.metering.reserved_terms import payee_of
from instances.models import Instance, InstancePort, Move
from instances.retention.data_retention import close_paid_retention
from instances.spot.bids import hint_freed_gpus
from instances.states import ENDING, MOVE_MACHINE, Desired, InstanceState, MoveKind, MoveState
from instances.transfers.selectors import ARRIVING, open_transfer, open_transfer_ids, transfers_clearing_on
from instances.transfers.start import COPY, RECEIVE, SEND
from instances.volumes.transfers import cancel_awaited_transfers
from marketplace.hosts.incidents import open_incident
from marketplace.incident_messages import stuck
from marketplace.leasing.lease import release_leases
from marketplace.states import HostState
from storage.operations.selectors import operations_of
from storage.operations.services import cancel_operations
from storage.states import OperationState

if TYPE_CHECKING:
    from marketplace.models import Host

logger = logging.getLogger(__name__)

KINDS: Final = (COPY, SEND, RECEIVE)
CANCELLED: Final = "cancelled"
_ENDED: Final = (OperationState.FAILED, OperationState.CANCELLED)


def apply_copy_result(operation: Any) -> None:
    """Apply the end of a copying operation, in the transaction that marks it as concluded."""
    row = Move.objects.select_for_update(no_key=True).filter(pk=operation.subject, state=MoveState.COPYING).first()
    if row is not None:
        _decide(row)


def cancel_transfer(*, renter: User, instance_id: UUID) -> Instance:
    """Cancel a transfer while it copies: copies are removed, the source is as before.

    Raises IllegalTransition.
    """
    with use_case():
        instance = instance_of(renter, instance_id)
        check_action(instance, "cancel-move")
        found = open_transfer(instance.pk)
        if found is None and cancel_awaited_transfers(instance):
            return instance
        row = found and Move.objects.select_for_update(no_key=True).filter(pk=found.pk, state=MoveState.COPYING).first()
        if not row:
            raise IllegalTransition("Copying has just finished.", actions=instance.actions)
        _abort(row, code=CANCELLED, detail=None, actor=RENTER)
    return instance_of(renter, instance_id)


def advance_transfers(*, now: datetime) -> int:
    """Advance transfers; return how many have changed.

    This is a sweep of transfers whose target has run, failed or was released, of copying without a running operation,
    and of removals that a written-off host will not report.
    """
    return sum(_advance(key, now) for key in open_transfer_ids())


def record_cleared(*, host_id: UUID, absent: Sequence[UUID], at: datetime) -> None:
    """End the transfers that waited for the host's proof that nothing of these instances is left."""
    for key in transfers_clearing_on(host_id, absent) if absent else ():
        with use_case():
            _end_cleared(key, host_id, at)


def _advance(key: UUID, now: datetime) -> bool:
    try:
        with use_case():
            row = Move.objects.select_for_update(no_key=True).filter(pk=key).first()
            if row is None:
                return False
            if row.state == MoveState.COPYING:
                return _decide(row)
            if row.state == MoveState.STARTING:
                return _advance_start(row)
            return _clearing_host(row).state == HostState.RETIRED and _end_cleared(row.pk, _clearing_host(row).pk, now)
    except StaleRow:
        return False  # the instance changed meanwhile: the next run sees it
    except DomainError as error:
        logger.exception("move %s does not get on", key)
        open_incident(kind="move_stuck", subject=public_id("move", key), detail=stuck(error))
        return False


def _decide(row: Move) -> bool:
    """Decide a transfer by its operations; return whether the copying has ended.

    What has arrived at a host that was written off since is lost with it; the source still has all data.
    """
    operations = list(operations_of(row.pk))
    if row.to_host.state == HostState.RETIRED:
        _abort(row, code=HOST_WRITTEN_OFF, detail=None, actor=SYSTEM)
        return True
    if any(each.kind in ARRIVING and each.state == OperationState.DONE for each in operations):
        _hand_over(row)
        return True
    broken = next((each for each in operations if each.state in _ENDED), None)
    if broken is not None:
        _abort(row, code=broken.failure_code, detail=broken.last_message, actor=SYSTEM)
    return broken is not None


# Everything was copied.


def _hand_over(row: Move) -> None:
    cancel_operations(subject=row.pk, reason="done")
    if row.kind == MoveKind.CLONE:
        _start_clone(row)
    else:
        _switch_host(row)


def _start_clone(row: Move) -> None:
    now = clock.now()
    target, source = _with_relations(row.target_id), _with_relations(row.source_id)
    open_disk(target, at=now, payee_id=payee_of(target))
    change_state(target, InstanceState.REQUESTED, kind="cloned", actor=SYSTEM, **NO_PROGRESS)
    change_state(
        source, InstanceState.STOPPED, kind="clone_made", actor=SYSTEM, detail=Name(name=target.name), **NO_PROGRESS
    )
    _move(row, MoveState.DONE, reason="copied", switched_at=now, ended_at=now)
    touch_to_run(target)
    touch_host(source)


def _switch_host(row: Move) -> None:
    """Hand the instance over to its new host; the old host keeps its data until the new one has run it."""
    now = clock.now()
    instance = any_instance(row.source_id)
    close_disk(instance.pk, at=now)  # the sweep of disks opens it again at the new host's price
    close_paid_retention(instance)
    change_state(
        instance,
        InstanceState.STARTING,
        kind="moved",
        actor=SYSTEM,
        desired=Desired.RUNNING,
        **_columns(row.after),
        **RESET_FOR_NEW_RUN,
    )
    _move(row, MoveState.STARTING, reason="copied", switched_at=now)
    record_start_on_gpus(instance, gpu_model=row.to_offer.gpu_model)
    touch_to_run(_with_relations(instance.pk))
    _touch_hosts(row)


def _advance_start(row: Move) -> bool:
    instance = any_instance(row.source_id)
    began = instance.state == InstanceState.RUNNING or _has_run_since(instance, row.switched_at)
    if began or instance.state in ENDING:
        _move(row, MoveState.CLEARING, reason="running")
        if began:
            record_event(instance, kind="move_done", actor=SYSTEM, detail=Name(name=row.to_host.name))
        _touch_hosts(row)
        return True
    if instance.state == InstanceState.FAILED and instance.is_proven_stopped:
        if row.from_host.state == HostState.RETIRED:  # the new host has all that is left of it
            _move(row, MoveState.CLEARING, reason=HOST_WRITTEN_OFF)
        else:
            _revert(row, instance)
        return True
    return False


def _has_run_since(instance: Instance, moment: datetime | None) -> bool:
    return moment is not None and instance.started_at is not None and instance.started_at > moment


def _revert(row: Move, instance: Instance) -> None:
    """Stop the instance on its former host as it was, since it does not run on the new one."""
    now = clock.now()
    close_disk(instance.pk, at=now)
    kept = {"run_generation": instance.run_generation, "fence": instance.fence}
    code, detail = instance.failure_code, of_row(instance.failure_message, instance.failure_detail)
    change_state(
        instance,
        InstanceState.STOPPED,
        kind="moved_back",
        actor=SYSTEM,
        detail=detail,
        stopped_at=now,
        release_at=now + RETENTION,
        failure_code="",
        fault_of="",
        data_disk_lost_at=None,
        **(_columns(row.before) | kept | columns("failure_detail", None)),
    )
    _move(row, MoveState.UNDOING, reason=code, failure_code=code, **columns("failure_detail", detail))
    _touch_hosts(row)


# It could not be copied.


def _abort(row: Move, *, code: str, detail: Message | None, actor: str) -> None:
    """End a transfer that failed or was cancelled: nothing is charged, money and GPUs are free again.

    What the target's host has of it is removed.
    """
    cancel_operations(subject=row.pk, reason=CANCELLED)
    close_use(row.target_id)
    if release_leases(holder=row.target_id, reason="not copied"):
        hint_waiting()
        hint_freed_gpus(row.to_offer_id)
    source = any_instance(row.source_id)
    failure = {"failure_code": code[:40], **columns("failure_detail", detail)}
    word = "cancelled" if code == CANCELLED else "failed"
    if row.kind == MoveKind.CLONE:
        close_disk(row.target_id)
        target = any_instance(row.target_id)
        now = clock.now()
        ends = {"desired": Desired.GONE, "stop_requested_at": now, "stopped_at": now, **NO_PROGRESS, **failure}
        change_state(target, InstanceState.RELEASING, kind=f"clone_{word}", actor=actor, detail=detail, **ends)
        touch_host(target)
        ended = MoveState.CANCELLED if code == CANCELLED else MoveState.FAILED
        _move(row, ended, reason=code, ended_at=clock.now(), **failure)
    else:
        row.after["run_generation"], row.after["fence"] = row.before["run_generation"], row.before["fence"]
        Move.objects.filter(pk=row.pk).update(after=row.after)
        _move(row, MoveState.UNDOING, reason=code, **failure)
    kind = f"{'clone' if row.kind == MoveKind.CLONE else 'move'}_{word}"
    change_state(source, InstanceState.STOPPED, kind=kind, actor=actor, detail=detail, **NO_PROGRESS)
    _touch_hosts(row)


def _clearing_host(row: Move) -> "Host":
    """Return the host whose proof of removal ends the transfer."""
    return row.from_host if row.state == MoveState.CLEARING else row.to_host


def _end_cleared(key: UUID, host_id: UUID, at: datetime) -> bool:
    row = Move.objects.select_for_update(no_key=True).filter(pk=key, ended_at=None).first()
    if row is None or row.state not in (MoveState.CLEARING, MoveState.UNDOING):
        return False
    InstancePort.objects.filter(instance_id=row.source_id, host_id=host_id).delete()
    undone = MoveState.CANCELLED if row.failure_code == CANCELLED else MoveState.FAILED
    _move(row, MoveState.DONE if row.state == MoveState.CLEARING else undone, reason="cleared", ended_at=at)
    _touch_hosts(row)
    return True


def _columns(side: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored columns with their ids as UUIDs."""
    return {**side, "host_id": UUID(side["host_id"]), "offer_id": UUID(side["offer_id"])}


def _with_relations(instance_id: UUID) -> Instance:
    """Return the instance with its present host, offer and image."""
    return Instance.objects.select_related("host", "offer", "image").get(pk=instance_id)


def _move(row: Move, target: MoveState, *, reason: str, **fields: Any) -> None:
    move(row, target, machine=MOVE_MACHINE, reason=reason or "ended", actor=SYSTEM, **fields)


def _touch_hosts(row: Move) -> None:
    change_counters.notify_change(f"host:{row.from_host_id.hex}", f"host:{row.to_host_id.hex}", f"user:{row.renter_id.hex}")
