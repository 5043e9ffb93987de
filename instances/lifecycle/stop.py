"""Stopping: the container ends, root and data disk stay.

The GPUs are freed once the host has proven that, or kept.
"""

from collections.abc import Callable
from uuid import UUID

from accounts.models import User
from billing.pricing.estimates import RESERVED
from common import clock
from common.db.transactions import use_case
from common.messages.message import Message
from instances.constants import RETENTION
from instances.core.selectors import any_instance, instance_of
from instances.core.transitions import NO_PROGRESS, RENTER, SYSTEM, change_state, check_action, retry_stale, touch_host
from instances.metering.meters import cap_use, close_kept_gpus, close_use
from instances.models import Instance
from instances.retention.gpu_reservation import hold_for_reservation, release_gpus
from instances.spot.bid_changes import leave_queue
from instances.states import Desired, InstanceState


def stop_instance(*, renter: User, instance_id: UUID, hold: bool = False) -> Instance:
    """Stop an instance; from now on at most the grace is charged, whatever the host reports.

    With `hold` its GPUs stay leased for the offer's fee, of which one hour is held; inside a reserved term they stay
    leased anyway. Stopping again without `hold` releases kept GPUs. Raises IllegalTransition or InsufficientFunds.
    """

    def attempt() -> Instance:
        instance = instance_of(renter, instance_id)
        check_action(instance, "stop")
        if instance.state == InstanceState.STOPPED:
            _release_kept_gpus(instance, hold)
            return instance
        kept = hold and instance.billing_mode != RESERVED
        fee = hold_for_reservation(instance) if kept else 0
        stop_now(instance, kind="stop_asked", actor=RENTER, holds_gpus=kept, hold_micros_per_hour=fee)
        return instance

    with use_case():
        return retry_stale(attempt)


def halt_instance(
    *, instance_id: UUID, kind: str, detail: Message | None = None, only_if: Callable[[], bool] = lambda: True
) -> bool:
    """Stop an instance for a reason of the market's; return False when it need not be stopped any more.

    `only_if` is called first in the transaction, with the wallets locked, to check that the reason still holds.
    """

    def attempt() -> bool:
        if not only_if():
            return False
        instance = any_instance(instance_id)
        if "stop" not in instance.actions or instance.state == InstanceState.STOPPED:
            return False
        stop_now(instance, kind=kind, actor=SYSTEM, detail=detail)
        return True

    with use_case():
        return retry_stale(attempt)


def stop_now(instance: Instance, *, kind: str, actor: str, detail: Message | None = None, **fields: object) -> None:
    """Stop an instance inside a use case; one that waits for GPUs is stopped at once."""
    if instance.state == InstanceState.WAITING:
        _stop_waiting(instance, kind=kind, actor=actor, detail=detail)
        return
    cap_use(instance)
    change_state(
        instance,
        InstanceState.STOPPING,
        kind=kind,
        actor=actor,
        detail=detail,
        desired=Desired.STOPPED,
        stop_requested_at=clock.now(),
        **NO_PROGRESS,
        **fields,
    )
    touch_host(instance)


def _stop_waiting(instance: Instance, *, kind: str, actor: str, detail: Message | None) -> None:
    now = clock.now()
    close_use(instance.pk)
    leave_queue(instance=instance)
    change_state(
        instance,
        InstanceState.STOPPED,
        kind=kind,
        actor=actor,
        detail=detail,
        desired=Desired.STOPPED,
        stop_requested_at=now,
        stopped_at=now,
        release_at=now + (RETENTION if instance.retention_left is None else instance.retention_left),
        **NO_PROGRESS,
    )
    touch_host(instance)


def _release_kept_gpus(instance: Instance, hold: bool) -> None:
    if not hold:
        close_kept_gpus(instance.pk, at=clock.now())
        release_gpus(instance, at=clock.now(), reason="let go")
