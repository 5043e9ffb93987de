"""Webhook events about instances."""

from collections.abc import Mapping
from typing import Any, Final

from accounts.webhooks.outbox import emit
from common.ids import public_id
from common.messages.message import Message, stored
from common.messages.rendering import english
from instances.models import Instance
from instances.states import InstanceState

_KINDS: Final[Mapping[str, str]] = {
    InstanceState.RUNNING: "instance.started",
    InstanceState.STOPPED: "instance.stopped",
    InstanceState.FAILED: "instance.failed",
    InstanceState.GONE: "instance.released",
}


def emit_state_change(instance: Instance, *, kind: str, detail: Message | None) -> None:
    """Emit the webhook event of a state change, in the transaction that makes it."""
    webhook_kind = _KINDS.get(instance.state)
    if webhook_kind is None:
        return
    failed = instance.state == InstanceState.FAILED
    failure = {"code": instance.failure_code, "fault_of": instance.fault_of} if failed else None
    payload = {**named(instance), "reason": kind, "detail": english(detail), "message": stored(detail), "failure": failure}
    emit(user_id=instance.renter_id, kind=webhook_kind, payload=payload)


def emit_preemption_notice(instance: Instance, *, stops_at: str) -> None:
    """Emit the webhook event that a spot instance loses its GPUs at that moment."""
    emit(user_id=instance.renter_id, kind="instance.preempt_notice", payload={**named(instance), "stops_at": stops_at})


def named(instance: Instance) -> dict[str, Any]:
    """Return the fields by which a program identifies an instance."""
    return {"instance": public_id("inst", instance.pk), "name": instance.name, "state": instance.state}
