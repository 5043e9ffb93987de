"""Moves of instances: state, deadline, event and wake-ups together."""

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from common import clock, wake
from common.errors import StaleRow, UnlawfulMove
from common.prepared import insert
from common.transitions import move
from instances.models import Instance, InstanceEvent
from instances.policy import DEADLINES
from instances.states import INSTANCE_MACHINE, InstanceState

RENTER: Final = "renter"
HOST: Final = "host"
SYSTEM: Final = "system"

Result = TypeVar("Result")

_ATTEMPTS = 3


def move_instance(
    instance: Instance, target: InstanceState, *, kind: str, actor: str, detail: str = "", **fields: object
) -> None:
    """Move the instance and say so to its renter's pages. Raises UnlawfulMove or StaleRow; then nothing has changed."""
    limit = DEADLINES.get(target)
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
    touch_renter(instance)


def record_event(instance: Instance, *, kind: str, actor: str, detail: str = "") -> None:
    """A finding that moves nothing."""
    InstanceEvent.objects.create(instance_id=instance.pk, kind=kind, detail=detail[:300], actor=actor)


def touch_renter(instance: Instance) -> None:
    wake.touch(f"user:{instance.renter_id.hex}")


def touch_host(instance: Instance) -> None:
    """What the host should do has changed: wake its agent."""
    wake.touch(f"host:{instance.host_id.hex}")


def check_action(instance: Instance, verb: str) -> None:
    """Raises UnlawfulMove, naming what is possible, when the renter may not ask for `verb` now."""
    if verb in instance.actions:
        return
    possible = ", ".join(instance.actions) or "nothing"
    raise UnlawfulMove(
        f"An instance that is {instance.state} cannot take the action {verb}; possible now: {possible}.",
        state=instance.state,
        actions=instance.actions,
    )


def retry_stale(attempt: Callable[[], Result]) -> Result:
    """Run `attempt` again when a report moved the row between its read and its write: the renter's wish still stands."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return attempt()
        except StaleRow:
            continue
    return attempt()


def _record_move(instance: Instance, origin: str, target: str, *, reason: str, actor: str, detail: str) -> None:
    insert(
        InstanceEvent(
            instance_id=instance.pk, kind=reason, from_state=origin, to_state=target, detail=detail[:300], actor=actor
        )
    )
