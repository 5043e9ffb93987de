"""Operations: requested of a host, updated from its agent's reports, and failed at their deadline."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from common import change_counters, clock
from common.db.transactions import use_case
from common.encryption import encrypt
from common.messages.message import Message
from common.messages.rendering import columns
from common.transitions import move
from storage.models import Operation
from storage.operations.messages import OutOfTime
from storage.operations.outcomes import stored_outcome
from storage.operations.selectors import operations_open_on, operations_overdue
from storage.states import OPERATION_MACHINE, OperationState

AGENT: Final = "agent"
MARKET: Final = "market"
_COUNTS: Final = ("done_bytes", "total_bytes", "done_files", "total_files")


@dataclass(frozen=True)
class OperationRow:
    """An agent's report of one operation; see the protocol's ObservedOperation."""

    id: UUID
    phase: str
    done_bytes: int = 0
    total_bytes: int = 0
    detail: Message | None = None
    failure_code: str = ""
    outcome: Mapping[str, str] = field(default_factory=dict)
    done_files: int = 0
    total_files: int = 0


def request_operation(
    *,
    host_id: UUID,
    owner_id: UUID,
    kind: str,
    subject: UUID,
    args: Mapping[str, str],
    secrets: Mapping[str, str] | None = None,
    within: timedelta,
) -> Operation:
    """Request an operation of a host's agent; call it inside the use case that needs it."""
    row = Operation.objects.create(
        host_id=host_id,
        owner_id=owner_id,
        kind=kind,
        subject=subject,
        args=dict(args),
        sealed_args=encrypt(json.dumps(dict(secrets))) if secrets else "",
        deadline=clock.now() + within,
    )
    change_counters.notify_change(f"host:{host_id.hex}", f"user:{owner_id.hex}")
    return row


def record_operations(*, host_id: UUID, rows: Iterable[OperationRow], at: datetime) -> list[UUID]:
    """Record the operations that an agent reports, and return the ids of those that have ended.

    Reports of operations that are not open are ignored.
    """
    reported = {row.id: row for row in rows}
    if not reported:
        return []
    ended = []
    with use_case():
        for operation in operations_open_on(host_id, list(reported)).select_for_update(no_key=True):
            if _record(operation, reported[operation.pk], at):
                ended.append(operation.pk)
    return ended


def _record(operation: Operation, row: OperationRow, at: datetime) -> bool:
    counts = {name: max(0, getattr(row, name)) for name in _COUNTS}
    seen = {**counts, **columns("detail", row.detail)}
    if row.phase == "running":
        if operation.state == OperationState.WAITING:
            _move(operation, OperationState.RUNNING, reason="begun", actor=AGENT, **seen)
        elif any(getattr(operation, name) != value for name, value in seen.items()):
            Operation.objects.filter(pk=operation.pk).update(**seen)
            change_counters.notify_change(f"user:{operation.owner_id.hex}")
        return False
    target = OperationState.DONE if row.phase == "done" else OperationState.FAILED
    _move(
        operation,
        target,
        reason=row.failure_code or "done",
        actor=AGENT,
        ended_at=at,
        failure_code=row.failure_code[:40],
        outcome=stored_outcome(operation.kind, row.outcome),
        **seen,
    )
    return True


def fail_overdue(*, now: datetime) -> int:
    """Fail the operations that are past their deadline and return their number."""
    return sum(_fail_overdue(key) for key in operations_overdue(now))


def _fail_overdue(operation_id: UUID) -> bool:
    with use_case():
        return fail_operation(operation_id=operation_id, code="out_of_time", detail=OutOfTime())


def fail_operation(*, operation_id: UUID, code: str, detail: Message) -> bool:
    """Fail an operation that its host will not end; return False when it has ended.

    Call it inside a use case.
    """
    operation = Operation.objects.select_for_update(no_key=True).filter(pk=operation_id, ended_at=None).first()
    if operation is None:
        return False
    failure = {"failure_code": code, **columns("detail", detail)}
    _move(operation, OperationState.FAILED, reason=code, actor=MARKET, ended_at=clock.now(), **failure)
    return True


def cancel_operations(*, subject: UUID, reason: str) -> int:
    """Cancel the open operations of a subject and return their number.

    Call it inside a use case. The agent stops them at its next sync.
    """
    wanted = Operation.objects.select_for_update(no_key=True).filter(subject=subject, ended_at=None).order_by("pk")
    for operation in wanted:
        now = clock.now()
        _move(operation, OperationState.CANCELLED, reason=reason, actor=MARKET, ended_at=now, failure_code=reason)
    return len(wanted)


def cancel_operation(*, operation_id: UUID, reason: str) -> bool:
    """Cancel an open operation; return False when it has ended.

    Call it inside a use case.
    """
    operation = Operation.objects.select_for_update(no_key=True).filter(pk=operation_id, ended_at=None).first()
    if operation is None:
        return False
    now = clock.now()
    _move(operation, OperationState.CANCELLED, reason=reason, actor=MARKET, ended_at=now, failure_code=reason)
    return True


def delete_operation(*, operation_id: UUID) -> None:
    """Delete an ended operation inside the caller's use case.

    Its outcome is stored elsewhere, or must not be kept.
    """
    Operation.objects.filter(pk=operation_id, ended_at__isnull=False).delete()


def mark_concluded(*, operation_id: UUID) -> bool:
    """Mark the result of an operation as applied; return whether this call was the first to do so."""
    open_end = Operation.objects.filter(pk=operation_id, ended_at__isnull=False, concluded_at__isnull=True)
    return open_end.update(concluded_at=clock.now()) == 1


def _move(operation: Operation, target: str, *, reason: str, actor: str, **fields: Any) -> None:
    move(operation, target, machine=OPERATION_MACHINE, reason=reason, actor=actor, **fields)
    change_counters.notify_change(f"host:{operation.host_id.hex}", f"user:{operation.owner_id.hex}")
