"""State changes of instances, together with deadline, event and wake-ups."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeVar

from common import change_counters, clock
from common.db.prepared import insert
from common.errors import IllegalTransition, StaleRow
from common.messages.message import Message
from common.messages.rendering import columns
from common.transitions import move
from instances.constants import DEADLINES
from instances.core.wakeup_payloads import change_payload, early_order
from instances.core.webhook_events import emit_state_change
from instances.errors import Locked
from instances.models import Instance, InstanceEvent
from instances.states import ENDING, INSTANCE_MACHINE, PROTECTED, InstanceState
from storage.volumes.selectors import MountRow

NO_PROGRESS: Final[Mapping[str, Any]] = columns("progress", None)
# Columns about the last run, reset when an instance is to run again.
RESET_FOR_NEW_RUN: Final[Mapping[str, Any]] = {
    **{"stopped_at": None, "stop_requested_at": None, "release_at": None},
    **{"failure_code": "", "fault_of": "", **columns("failure_detail", None), **NO_PROGRESS},
    **{"cpu_only": False, "setback_code": "", **columns("setback_detail", None)},
    **{"paid_from": None, "retention_micros_per_day": 0, "retention_left": None},
}
RENTER: Final = "renter"
HOST: Final = "host"
SYSTEM: Final = "system"

Result = TypeVar("Result")

_ATTEMPTS = 3


def change_state(
    instance: Instance, target: InstanceState, *, kind: str, actor: str, detail: Message | None = None, **fields: object
) -> None:
    """Change the instance's state and notify its renter's pages and webhooks.

    Raises IllegalTransition or StaleRow; then nothing has changed.
    """
    limit = _longest(instance, target)
    move(
        instance,
        target,
        machine=INSTANCE_MACHINE,
        record=partial(_record_move, detail=detail),
        reason=kind,
        actor=actor,
        deadline=None if limit is None else clock.now() + limit,
        **fields,
    )
    emit_state_change(instance, kind=kind, detail=detail)
    renter = _renter(instance)
    change_counters.notify_change(renter, payloads={renter: change_payload(instance)})


def record_event(instance: Instance, *, kind: str, actor: str, detail: Message | None = None) -> None:
    """Record an event that changes no state."""
    InstanceEvent.objects.create(instance_id=instance.pk, kind=kind, actor=actor, **columns("detail", detail))


def touch_renter(instance: Instance) -> None:
    change_counters.notify_change(_renter(instance))


def touch_host(instance: Instance) -> None:
    """Wake the host's agent, since its desired state has changed."""
    change_counters.notify_change(_host(instance))


def touch_to_run(instance: Instance, mounts: Sequence[MountRow] | None = None) -> None:
    """Wake the host's agent with the order to run a new generation, and the renter's pages."""
    host, renter = _host(instance), _renter(instance)
    change_counters.notify_change(
        host, renter, payloads={host: early_order(instance, mounts), renter: change_payload(instance)}
    )


def check_action(instance: Instance, verb: str) -> None:
    """Raise IllegalTransition, naming the possible actions, when the renter may not request `verb` now."""
    if verb in instance.actions:
        return
    if verb in PROTECTED:
        check_lock(instance)
    possible = ", ".join(instance.actions) or "nothing"
    raise IllegalTransition(
        f"An instance that is {instance.state} cannot take the action {verb}; possible now: {possible}.",
        state=instance.state,
        actions=instance.actions,
    )


def check_lock(instance: Instance) -> None:
    """Raise Locked for an instance that its renter has locked, unless it is being released already."""
    if instance.locked and instance.state not in ENDING:
        raise Locked("Release protection is on. Turn it off first.")


def retry_stale(attempt: Callable[[], Result]) -> Result:
    """Repeat `attempt` when a report changed the row between its read and its write.

    The renter's request still stands then.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return attempt()
        except StaleRow:
            continue
    return attempt()


def _renter(instance: Instance) -> str:
    return f"user:{instance.renter_id.hex}"


def _host(instance: Instance) -> str:
    return f"host:{instance.host_id.hex}"


def _longest(instance: Instance, target: InstanceState) -> timedelta | None:
    """Return how long the state may last, or None for any time.

    With a fresh root, an image may have to be pulled first.
    """
    limit = DEADLINES.get(target)
    if limit is None or not instance.awaits_root:
        return limit
    return max(limit, DEADLINES[InstanceState.PROVISIONING])


def _record_move(instance: Instance, origin: str, target: str, *, reason: str, actor: str, detail: Message | None) -> None:
    insert(
        InstanceEvent(
            instance_id=instance.pk,
            kind=reason,
            from_state=origin,
            to_state=target,
            actor=actor,
            **columns("detail", detail),
        )
    )
