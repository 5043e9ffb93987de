"""Volumes: ordered by their owners, made by their host's agent, deleted only on request."""

import re
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError
from django.utils.translation import gettext as _

from accounts.models import User
from common import change_counters, clock
from common.db.transactions import use_case
from common.errors import wrong_field
from common.messages.rendering import columns
from common.money import format_money
from common.transitions import move
from marketplace.constants import DATA_DISK_GB_MAX
from marketplace.errors import PriceChanged
from marketplace.hosts.storage_selectors import StorageHost, storage_host
from storage.constants import COPY_WITHIN, DROP_WITHIN, MAKE_WITHIN, NAME_PATTERN, VOLUMES_AT_MOST
from storage.errors import NoStorage, SnapshotNotReady, TooManyVolumes, VolumeBusy, VolumeElsewhere, VolumeNameTaken
from storage.models import Operation, Snapshot, Volume
from storage.operations.metering import close_volume, hold_for_volume, open_volume
from storage.operations.services import request_operation
from storage.states import VOLUME_MACHINE, OperationState, SnapshotState, VolumeState
from storage.volumes.selectors import holders_of, open_operations, snapshot_of, volume_of, volumes_of
from storage.volumes.transfer_selectors import gigabytes_coming, gigabytes_growing

MAKE: Final = "make_volume"
DROP: Final = "drop_volume"
MARKET: Final = "market"
OWNER: Final = "owner"


def create_volume(
    *,
    owner: User,
    name: str,
    size_gb: int | None = None,
    host_id: UUID | None = None,
    snapshot_id: UUID | None = None,
    max_micros_per_day: int | None = None,
) -> Volume:
    """Order an empty volume on a host, or a copy of a snapshot on the snapshot's host.

    It is charged from the moment that it is ready. Raises NotFound, InvalidInput, VolumeNameTaken, TooManyVolumes,
    NoStorage, PriceChanged, SnapshotNotReady or InsufficientFunds.
    """
    check_name(name)
    with use_case():
        snapshot = None if snapshot_id is None else _ready_snapshot(owner, snapshot_id)
        host = _chosen_host(host_id, snapshot)
        size = _checked_size(size_gb, snapshot, host)
        if volumes_of(owner.pk).count() >= VOLUMES_AT_MOST:
            raise TooManyVolumes(f"One person has at most {VOLUMES_AT_MOST} volumes.")
        volume = Volume(
            owner=owner,
            host_id=host.id,
            name=name,
            size_gb=size,
            micros_per_day=host.micros_gb_day * size,
            snapshot=snapshot,
            created_at=clock.now(),
        )
        check_price(volume.micros_per_day, max_micros_per_day)
        hold_for_volume(volume)
        insert_volume(volume)
        _request_creation(volume, snapshot)
    return volume


def check_price(micros: int, most: int | None) -> None:
    """Raise PriceChanged if the price per day is above the agreed maximum (micro-units)."""
    if most is not None and micros > most:
        now = format_money(micros)
        detail = f"It costs {now} a day by now, more than was agreed to. Set max_daily_rate to accept it."
        raise PriceChanged(detail, daily_rate=now)


def delete_volume(*, owner: User, volume_id: UUID) -> Volume:
    """Delete a volume with its contents, which ends its charges; repeating it changes nothing.

    Raises VolumeBusy.
    """
    with use_case():
        volume = volume_of(owner.pk, volume_id)
        if volume.state != VolumeState.DELETING:
            start_volume_deletion(volume, reason="deleted", actor=OWNER)
    return volume


def start_volume_deletion(volume: Volume, *, reason: str, actor: str) -> None:
    """Close the volume's meter and request its deletion, inside a use case.

    Raises VolumeBusy while it is attached or an operation works on it.
    """
    close_volume(volume.pk, at=clock.now())
    locked = lock_volume(volume.pk)
    if locked.state not in (VolumeState.READY, VolumeState.FAILED):
        raise VolumeBusy(f"The volume is {locked.get_state_display()}. Try again when that is done.")
    check_unused(locked)
    change_volume_state(volume, VolumeState.DELETING, reason=reason, actor=actor)
    request_deletion(volume)


def request_deletion(volume: Volume) -> None:
    args = {"volume": volume.pk.hex}
    request_operation(
        host_id=volume.host_id, owner_id=volume.owner_id, kind=DROP, subject=volume.pk, args=args, within=DROP_WITHIN
    )


def lock_volume(volume_id: UUID) -> Volume:
    """Lock and return the row until the transaction ends; wallets and instances are locked before it."""
    return Volume.objects.select_for_update(of=("self",), no_key=True).get(pk=volume_id)


def check_unused(volume: Volume) -> None:
    """Raise VolumeBusy while an instance has the volume attached, or its host works on it."""
    if holders_of([volume.pk]):
        raise VolumeBusy("The volume is attached to an instance. Detach it first.")
    check_idle(volume.pk)


def check_idle(subject: UUID) -> None:
    if subject in open_operations([subject]):
        raise VolumeBusy("Its host is working on it. Try again once that is done.")


def change_volume_state(volume: Volume, target: VolumeState, *, reason: str, actor: str, **fields: Any) -> None:
    move(volume, target, machine=VOLUME_MACHINE, reason=reason, actor=actor, **fields)
    change_counters.notify_change(f"user:{volume.owner_id.hex}")


# Results of operations.


def apply_creation_result(operation: Operation) -> None:
    volume = Volume.objects.get(pk=operation.subject)
    if operation.state == OperationState.DONE:
        open_volume(volume, at=_ended(operation))
        change_volume_state(volume, VolumeState.READY, reason="made", actor=MARKET)
        return
    close_volume(volume.pk)
    fault = {"failure_code": operation.failure_code, **columns("failure_detail", operation.last_message)}
    change_volume_state(volume, VolumeState.FAILED, reason=operation.failure_code, actor=MARKET, **fault)


def apply_deletion_result(operation: Operation) -> None:
    """Mark a volume as gone once its host has deleted it; the sweep repeats what did not succeed."""
    volume = Volume.objects.get(pk=operation.subject)
    if operation.state == OperationState.DONE and volume.state == VolumeState.DELETING:
        mark_gone(volume, at=_ended(operation))


def mark_gone(volume: Volume, *, at: datetime) -> None:
    """Mark a volume as gone."""
    change_volume_state(volume, VolumeState.GONE, reason="deleted", actor=MARKET, deleted_at=at)


def _ended(operation: Operation) -> datetime:
    return operation.ended_at or clock.now()


# Checks of an order.


def check_name(name: str) -> None:
    if not re.fullmatch(NAME_PATTERN, name):
        raise wrong_field("name", _("Use up to 40 lowercase letters, digits and hyphens. It is mounted at /mnt/<name>."))


def _ready_snapshot(owner: User, snapshot_id: UUID) -> Snapshot:
    snapshot_of(owner.pk, snapshot_id)
    # Locked, so that it cannot be deleted between this check and the order.
    snapshot = Snapshot.objects.select_for_update(of=("self",), no_key=True).get(pk=snapshot_id)
    if snapshot.state != SnapshotState.READY:
        raise SnapshotNotReady(f"The snapshot is {snapshot.get_state_display()}.")
    return snapshot


def _chosen_host(host_id: UUID | None, snapshot: Snapshot | None) -> StorageHost:
    if snapshot is None:
        if host_id is None:
            raise wrong_field("host", "Specify the host to store it on; GET /storage-hosts lists them.")
        return storage_host(host_id)
    if host_id not in (None, snapshot.host_id):
        raise VolumeElsewhere("A volume created from a snapshot is stored on the snapshot's host.")
    return storage_host(snapshot.host_id)


def _checked_size(size_gb: int | None, snapshot: Snapshot | None, host: StorageHost) -> int:
    least = snapshot.size_gb if snapshot else 1
    size = least if size_gb is None and snapshot else size_gb
    if size is None or not least <= size <= DATA_DISK_GB_MAX:
        raise wrong_field("size_gb", _("Choose %(least)s to %(most)s GB.") % {"least": least, "most": DATA_DISK_GB_MAX})
    if size > host.disk_free_gb - promised_gb(host.id):
        raise NoStorage(f"The host {host.name} has no room for {size} GB at the moment. Choose another one.")
    return size


def promised_gb(host_id: UUID) -> int:
    """Return the GB ordered on the host that its own report of free disk does not include yet."""
    coming = Volume.objects.filter(host_id=host_id, state=VolumeState.CREATING)
    return sum(coming.values_list("size_gb", flat=True)) + gigabytes_growing(host_id) + gigabytes_coming(host_id)


def insert_volume(volume: Volume) -> None:
    if Volume.objects.filter(owner_id=volume.owner_id, name=volume.name).exclude(state=VolumeState.GONE).exists():
        raise VolumeNameTaken(f"You already have a volume with the name {volume.name}.")
    try:
        volume.save(force_insert=True)
    except IntegrityError as error:  # two requests at the same time
        raise VolumeNameTaken(f"You already have a volume with the name {volume.name}.") from error
    change_counters.notify_change(f"user:{volume.owner_id.hex}")


def _request_creation(volume: Volume, snapshot: Snapshot | None) -> None:
    args = {"volume": volume.pk.hex, "size_gb": str(volume.size_gb)}
    if snapshot is not None:
        args["snapshot"] = snapshot.pk.hex
    within = MAKE_WITHIN if snapshot is None else COPY_WITHIN
    request_operation(
        host_id=volume.host_id, owner_id=volume.owner_id, kind=MAKE, subject=volume.pk, args=args, within=within
    )
