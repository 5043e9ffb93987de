"""Completion of volume transfers: handing over, giving up, and the removal of leftovers."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from accounts.models import User
from common import change_counters, clock
from common.db.transactions import use_case
from common.errors import IllegalTransition, StaleRow
from common.messages.message import Message
from common.messages.rendering import columns
from common.transitions import move
from marketplace.states import HostState
from storage.constants import DROP_WITHIN, HOST_WRITTEN_OFF
from storage.models import Operation, Volume, VolumeMove
from storage.operations.messages import HostIsLost
from storage.operations.metering import close_volume, open_volume
from storage.operations.services import cancel_operations, request_operation
from storage.states import VOLUME_MOVE_MACHINE, OperationState, VolumeMoveKind, VolumeMoveState, VolumeState
from storage.volumes.grow import restart_charging
from storage.volumes.selectors import volume_of
from storage.volumes.transfer_selectors import (
    arrived_operation,
    failed_operation,
    last_clearing_operation,
    open_transfers,
    open_volume_moves,
)
from storage.volumes.transfers import RECEIVE, SEND
from storage.volumes.volumes import MARKET, OWNER, change_volume_state, start_volume_deletion

if TYPE_CHECKING:
    from marketplace.models import Host

logger = logging.getLogger(__name__)

KINDS: Final = (SEND, RECEIVE)
CLEAR: Final = "clear_volume"
CANCELLED: Final = "cancelled"
_SUM_DIGITS: Final = 64
_M = VolumeMoveState


def apply_transfer_result(operation: Operation) -> None:
    """Apply the end of a sending or receiving operation, in the transaction that marks it as concluded."""
    row = _locked(operation.subject)
    if row is not None and row.state == _M.COPYING:
        _decide(row)


def apply_clearing_result(operation: Operation) -> None:
    """Finish a transfer whose leftovers are removed; the sweep repeats a removal that did not succeed."""
    row = _locked(operation.subject)
    if row is not None and operation.state == OperationState.DONE:
        _end_cleared(row, at=operation.ended_at or clock.now())


def cancel_volume_transfer(*, owner: User, volume_id: UUID) -> Volume:
    """Cancel a transfer while it copies; the source stays as it was, and a copy is discarded.

    Raises NotFound or IllegalTransition.
    """
    with use_case():
        volume = volume_of(owner.pk, volume_id)
        found = open_volume_moves([volume.pk]).get(volume.pk)
        row = None if found is None else _locked(found.pk)
        if row is None or row.state != _M.COPYING:
            raise IllegalTransition("The volume is not on its way.", state=volume.state)
        abort_transfer(row, code=CANCELLED, detail=None, actor=OWNER)
    return Volume.objects.get(pk=row.source_id)


def cancel_transfers_for(*, holder: UUID) -> bool:
    """Cancel the transfers that this instance waits for, inside a use case; return whether there were any."""
    wanted = VolumeMove.objects.select_for_update(no_key=True).filter(waits_for=holder, state=_M.COPYING).order_by("pk")
    rows = list(wanted)
    for row in rows:
        abort_transfer(row, code=CANCELLED, detail=None, actor=OWNER)
    return bool(rows)


def clear_waiting(*, holder: UUID) -> None:
    """Clear the reference to an instance that has received the result of its transfers."""
    VolumeMove.objects.filter(waits_for=holder).update(waits_for=None)


def advance_volume_transfers(*, now: datetime) -> int:
    """Apply missed ends of operations and repeat failed removals; return how many transfers changed.

    This is a sweep.
    """
    return sum(_advance(key, now) for key in open_transfers())


def abort_transfer(row: VolumeMove, *, code: str, detail: Message | None, actor: str) -> None:
    """Fail or cancel a transfer: the source is usable again, and what arrived is removed.

    Nothing was charged for it.
    """
    cancel_operations(subject=row.pk, reason=CANCELLED)
    failure = {"failure_code": code[:40], **columns("failure_detail", detail)}
    word = "cancelled" if code == CANCELLED else "failed"
    ended = _M.CANCELLED if code == CANCELLED else _M.FAILED
    shown: Mapping[str, Any] = {} if code == CANCELLED else failure
    if row.kind == VolumeMoveKind.COPY:
        _discard_copy(row, failure, cancelled=code == CANCELLED)
        _move(row, ended, reason=code, actor=actor, ended_at=clock.now(), **failure)
    else:
        _move(row, _M.UNDOING, reason=code, actor=actor, **failure)
        _request_clearing(row)
    source = Volume.objects.get(pk=row.source_id)
    change_volume_state(source, VolumeState.READY, reason=f"{row.kind}_{word}", actor=actor, **shown)


def _locked(key: UUID) -> VolumeMove | None:
    rows = VolumeMove.objects.select_for_update(of=("self",), no_key=True)
    return rows.select_related("source", "from_host", "to_host").filter(pk=key).first()


def _decide(row: VolumeMove) -> bool:
    """Decide a transfer by the state of its two operations; return whether it could be decided.

    The volume is handed over, or the transfer fails. What has arrived at a host that was written off since is lost
    with it; the source still has all data.
    """
    if row.to_host.state == HostState.RETIRED:
        abort_transfer(row, code=HOST_WRITTEN_OFF, detail=HostIsLost(), actor=MARKET)
        return True
    arrived = arrived_operation(row.pk)
    if arrived is not None:
        _hand_over(row, arrived)
        return True
    broken = failed_operation(row.pk)
    if broken is not None:
        abort_transfer(row, code=broken.failure_code or broken.state, detail=broken.last_message, actor=MARKET)
    return broken is not None


# Handing over.


def _hand_over(row: VolumeMove, arrived: Operation) -> None:
    now = clock.now()
    cancel_operations(subject=row.pk, reason="done")
    proof = _proof(arrived.outcome)
    if row.kind == VolumeMoveKind.COPY:
        target = Volume.objects.get(pk=row.target_id)
        open_volume(target, at=now)
        change_volume_state(target, VolumeState.READY, reason="made", actor=MARKET)
        change_volume_state(row.source, VolumeState.READY, reason="copied", actor=MARKET)
        _move(row, _M.DONE, reason="copied", switched_at=now, ended_at=now, **proof)
        return
    volume = Volume.objects.get(pk=row.source_id)
    close_volume(volume.pk, at=now)  # metered at one host at a time
    there = {"host_id": row.to_host_id, "micros_per_day": row.micros_per_day}
    change_volume_state(volume, VolumeState.READY, reason="moved", actor=MARKET, **there)
    restart_charging(Volume.objects.get(pk=volume.pk), at=now)
    _move(row, _M.CLEARING, reason="moved", switched_at=now, **proof)
    _request_clearing(row)


def _proof(outcome: Mapping[str, str]) -> dict[str, Any]:
    """Return the receiving host's figures, cut to the columns' limits.

    A host may report anything.
    """
    carried, cuts = (outcome.get(name, "") for name in ("bytes", "cuts"))
    return {
        "checksum": outcome.get("checksum", "")[:_SUM_DIGITS],
        "carried_bytes": _number(carried, 2**53),
        "cuts": _number(cuts, 10**6),
    }


def _number(text: str, most: int) -> int:
    return min(int(text), most) if text.isdecimal() else 0


# Removal of leftovers.


def _discard_copy(row: VolumeMove, failure: Mapping[str, Any], *, cancelled: bool) -> None:
    close_volume(row.target_id)
    target = Volume.objects.get(pk=row.target_id)
    change_volume_state(target, VolumeState.FAILED, reason=failure["failure_code"], actor=MARKET, **failure)
    if cancelled:
        start_volume_deletion(target, reason=CANCELLED, actor=OWNER)


def _clearing_host(row: VolumeMove) -> "Host":
    """Return the host whose report of the removal ends the transfer."""
    return row.from_host if row.state == _M.CLEARING else row.to_host


def _request_clearing(row: VolumeMove) -> None:
    """Request the removal from the old host after a move that arrived, else from the new one.

    A host that was written off gets no request.
    """
    host = _clearing_host(row)
    if host.state == HostState.RETIRED:
        return
    request_operation(
        host_id=host.pk,
        owner_id=row.owner_id,
        kind=CLEAR,
        subject=row.pk,
        args={"volume": row.source_id.hex},
        within=DROP_WITHIN,
    )


def _end_cleared(row: VolumeMove, *, at: datetime) -> None:
    if row.state == _M.CLEARING:
        _move(row, _M.DONE, reason="cleared", ended_at=at)
    elif row.state == _M.UNDOING:
        ended = _M.CANCELLED if row.failure_code == CANCELLED else _M.FAILED
        _move(row, ended, reason="cleared", ended_at=at)


def _advance(key: UUID, now: datetime) -> bool:
    try:
        with use_case():
            row = _locked(key)
            if row is None or row.ended_at is not None:
                return False
            if row.state == _M.COPYING:
                return _decide(row)
            return _retry_clearing(row, now)
    except StaleRow:
        return False  # changed meanwhile: the next run sees it


def _retry_clearing(row: VolumeMove, now: datetime) -> bool:
    """Request a failed removal again; what was on a host that was written off counts as removed."""
    if _clearing_host(row).state == HostState.RETIRED:
        _end_cleared(row, at=now)
        return True
    last = last_clearing_operation(row.pk)
    if last is not None and last.state not in (OperationState.FAILED, OperationState.CANCELLED):
        return False
    _request_clearing(row)
    return True


def _move(row: VolumeMove, target: VolumeMoveState, *, reason: str, actor: str = MARKET, **fields: Any) -> None:
    move(row, target, machine=VOLUME_MOVE_MACHINE, reason=reason or "ended", actor=actor, **fields)
    change_counters.notify_change(f"user:{row.owner_id.hex}")
