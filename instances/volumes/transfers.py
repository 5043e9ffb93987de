"""Transfers of volumes between hosts, alone or for an instance that is to run with them."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from accounts.models import User
from billing.pricing.estimates import HOURLY, TIERED
from common import clock
from common.db.transactions import use_case
from common.errors import DomainError, StaleRow
from common.ids import public_id
from common.jobs import enqueue
from common.messages.message import Message, Name, of_row
from common.messages.rendering import columns
from instances.constants import RETENTION
from instances.core.capacity_hints import hint_waiting
from instances.core.stream_tickets import peer_ticket
from instances.core.transitions import NO_PROGRESS, RENTER, SYSTEM, change_state, record_event, touch_host, touch_to_run
from instances.metering.meters import close_disk, close_use, open_disk
from instances.metering.reserved_terms import payee_of
from instances.models import Instance
from instances.spot.bids import hint_freed_gpus
from instances.states import Desired, InstanceState
from marketplace.hosts.incidents import open_incident
from marketplace.hosts.storage_selectors import storage_host
from marketplace.incident_messages import stuck
from marketplace.leasing.lease import release_leases
from storage.errors import VolumeElsewhere
from storage.states import VolumeMoveState
from storage.volumes import transfer_completion as ends
from storage.volumes import transfers as orders
from storage.volumes.attachments import attach_arriving, detach
from storage.volumes.selectors import volume_of
from storage.volumes.transfer_selectors import holders_waiting, transfers_awaited_by

if TYPE_CHECKING:
    from storage.models import Operation, Volume, VolumeMove

logger = logging.getLogger(__name__)

_MODES: Final = (HOURLY, TIERED)
_BROKEN: Final = (VolumeMoveState.UNDOING, VolumeMoveState.FAILED, VolumeMoveState.CANCELLED)
_NOTHING: Final[dict[str, Any]] = {"failure_code": "", **columns("failure_detail", None), **NO_PROGRESS}


def move_volume_to_host(
    *, owner: User, volume_id: UUID, host_id: UUID, max_micros_per_day: int | None = None
) -> "VolumeMove":
    """Move a free volume to another host of its region.

    Raises what `send_volume` raises.
    """
    return orders.send_volume(
        owner=owner, volume_id=volume_id, host_id=host_id, ticket=_ticket, max_micros_per_day=max_micros_per_day
    )


def copy_volume_to_host(
    *, owner: User, volume_id: UUID, host_id: UUID, name: str, max_micros_per_day: int | None = None
) -> "VolumeMove":
    """Copy a free volume to another host.

    Raises what `copy_volume` raises.
    """
    return orders.copy_volume(
        owner=owner, volume_id=volume_id, host_id=host_id, name=name, ticket=_ticket, max_micros_per_day=max_micros_per_day
    )


def volumes_to_move(*, renter_id: UUID, host_id: UUID, volume_ids: Sequence[UUID] | None) -> list["Volume"]:
    """Return those of the wanted volumes that are on other hosts, or raise NotFound."""
    wanted = [volume_of(renter_id, volume_id) for volume_id in sorted(set(volume_ids or ()))]
    return [volume for volume in wanted if volume.host_id != host_id]


def check_can_wait(instance: Instance, coming: Sequence["Volume"], *, leased: bool) -> None:
    """Raise VolumeElsewhere where GPUs cannot be held free of charge until the volumes arrive."""
    if not coming:
        return
    where = f"The volume {coming[0].name} lies on the host {coming[0].host.name}"
    if instance.billing_mode not in _MODES:
        raise VolumeElsewhere(
            f"{where}. With hourly or tiered billing it is migrated automatically; otherwise migrate it first."
        )
    if not leased:
        raise VolumeElsewhere(f"{where}, and no GPUs are free here right now. Migrate it first.")


def start_moving_volumes(instance: Instance, coming: Sequence["Volume"]) -> None:
    """Start moving volumes to the instance and attach them, inside the use case of its rent or start.

    The instance runs when they have arrived.
    """
    for volume in coming:
        orders.start_move(volume, storage_host(instance.host_id), ticket=_ticket, waits_for=instance.pk)
        attach_arriving(holder=instance.pk, host_id=instance.host_id, volume=volume)
        record_event(instance, kind="volume_coming", actor=RENTER, detail=Name(name=volume.name))


def apply_transfer_result(operation: "Operation") -> None:
    """Apply the end of a volume's transfer.

    The instance that waits for it is updated in a transaction of its own, since instances are locked before volumes.
    """
    ends.apply_transfer_result(operation)
    enqueue("instances.follow_volume_moves")


def advance_volume_transfers(*, now: datetime) -> int:
    """Advance transfers of volumes, and instances that wait for them; return how many have changed.

    This is a sweep.
    """
    return ends.advance_volume_transfers(now=now) + sum(_advance_holder(holder) for holder in holders_waiting())


def cancel_awaited_transfers(instance: Instance, *, actor: str = RENTER) -> bool:
    """Cancel the transfers that an instance waits for, inside a use case; return False without any.

    The instance is as before its order.
    """
    close_use(instance.pk)
    if not ends.cancel_transfers_for(holder=instance.pk):
        return False
    _abort(instance, code=ends.CANCELLED, detail=None, actor=actor)
    return True


def _advance_holder(holder: UUID) -> bool:
    try:
        with use_case():
            return _advance(holder)
    except StaleRow:
        return False  # it changed meanwhile: the next run sees it
    except DomainError as error:
        logger.exception("instance %s does not get on with its volumes", holder)
        open_incident(kind="volume_move_stuck", subject=public_id("inst", holder), detail=stuck(error))
        return False


def _advance(holder: UUID) -> bool:
    instance = Instance.objects.select_related("host", "offer", "image").filter(pk=holder).first()
    rows = transfers_awaited_by(holder)
    if instance is None or instance.state != InstanceState.COPYING:
        ends.clear_waiting(holder=holder)
        return True
    broken = next((row for row in rows if row.state in _BROKEN), None)
    if broken is not None:
        close_use(instance.pk)
        ends.cancel_transfers_for(holder=holder)
        why = of_row(broken.failure_message, broken.failure_detail)
        _abort(instance, code=broken.failure_code, detail=why, actor=SYSTEM)
    elif all(row.switched_at is not None for row in rows):
        _run(instance, Name(name=", ".join(row.source.name for row in rows)))
    else:
        return False
    return True


def _run(instance: Instance, names: Message) -> None:
    """Start an instance whose volumes have arrived: a new one as requested, a stopped one as starting."""
    open_disk(instance, at=clock.now(), payee_id=payee_of(instance))
    if _is_new(instance):
        change_state(instance, InstanceState.REQUESTED, kind="volume_arrived", actor=SYSTEM, detail=names, **NO_PROGRESS)
    else:
        begun = {"run_generation": instance.run_generation + 1, "retention_left": None, **NO_PROGRESS}
        change_state(instance, InstanceState.STARTING, kind="volume_arrived", actor=SYSTEM, detail=names, **begun)
    ends.clear_waiting(holder=instance.pk)
    touch_to_run(instance)


def _abort(instance: Instance, *, code: str, detail: Message | None, actor: str) -> None:
    """Undo a rent or start whose volumes do not come; nothing is charged, money and GPUs are free again.

    The wallets are locked already.
    """
    now = clock.now()
    if release_leases(holder=instance.pk, reason="not copied"):
        hint_waiting()
        hint_freed_gpus(instance.offer_id)
    kind = "volume_cancelled" if code == ends.CANCELLED else "volume_not_moved"
    if _is_new(instance):
        close_disk(instance.pk)
        failure = {"failure_code": code[:40], **columns("failure_detail", detail)}
        gone = {"desired": Desired.GONE, "stop_requested_at": now, "stopped_at": now, **NO_PROGRESS, **failure}
        change_state(instance, InstanceState.RELEASING, kind=kind, actor=actor, detail=detail, **gone)
    else:
        kept = RETENTION if instance.retention_left is None else instance.retention_left
        rests = {"desired": Desired.STOPPED, "stop_requested_at": now, "stopped_at": now, "release_at": now + kept}
        change_state(instance, InstanceState.STOPPED, kind=kind, actor=actor, detail=detail, **rests, **_NOTHING)
    for row in transfers_awaited_by(instance.pk):
        if row.switched_at is None:
            detach(holder=instance.pk, volume_id=row.source_id)  # it keeps the volumes that have arrived
    ends.clear_waiting(holder=instance.pk)
    touch_host(instance)


def _is_new(instance: Instance) -> bool:
    """Return whether it waits with its rent; a later start has a higher fence."""
    return instance.fence == 1


def _ticket(pair: UUID, host_id: UUID, side: str, lifetime: timedelta) -> str:
    return peer_ticket(pair=pair, host_id=host_id, side=side, lifetime=lifetime)
