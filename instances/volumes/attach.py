"""Attaching of volumes and public data sets, with an order or while no container runs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import F

from accounts.models import User
from common.db.transactions import use_case
from common.errors import IllegalTransition, NotFound
from common.messages.message import Name
from instances.core.selectors import instance_of
from instances.core.transitions import RENTER, record_event, touch_host, touch_renter
from instances.models import Instance
from instances.states import InstanceState
from instances.volumes.transfers import start_moving_volumes
from storage.errors import VolumeBusy
from storage.states import SnapshotSource
from storage.volumes import attachments
from storage.volumes.selectors import any_data_set, data_set_named, holders_of, is_being_restored, snapshot_of, volume_of
from storage.volumes.snapshots import locked_ready, order_snapshot, request_restore

if TYPE_CHECKING:
    from storage.models import Snapshot, Volume

_AT_REST = (InstanceState.STOPPED, InstanceState.FAILED)
_HAS_A_DISK = (*_AT_REST, InstanceState.RUNNING)


def attach_volume(*, renter: User, volume_id: UUID, instance_id: UUID) -> Instance:
    """Attach a volume, which is mounted at /mnt/<name> from the next start on.

    Raises NotFound, VolumeElsewhere, VolumeBusy or TooManyVolumes, and IllegalTransition for an instance that runs.
    """
    with use_case():
        volume_of(renter.pk, volume_id)
        instance = _locked_stopped(renter, instance_id)
        volume = attachments.attach(owner_id=renter.pk, holder=instance.pk, host_id=instance.host_id, volume_id=volume_id)
        _record_and_wake(instance, "volume_attached", volume.name)
    return instance


def detach_volume(*, renter: User, volume_id: UUID) -> None:
    """Detach a volume; one that is not attached is left alone.

    Raises NotFound or IllegalTransition.
    """
    with use_case():
        volume = volume_of(renter.pk, volume_id)
        holder = holders_of([volume.pk]).get(volume.pk)
        if holder is None:
            return
        instance = _locked_stopped(renter, holder)
        if attachments.detach(holder=holder, volume_id=volume.pk):
            _record_and_wake(instance, "volume_detached", volume.name)


def attach_data_set(*, renter: User, slug: str, instance_id: UUID) -> Instance:
    """Mount a public data set at /pub/<slug> from the next start on.

    Raises what `attach_volume` raises.
    """
    with use_case():
        data_set_named(slug)
        instance = _locked_stopped(renter, instance_id)
        attachments.attach_data_set(holder=instance.pk, host_id=instance.host_id, slug=slug)
        _record_and_wake(instance, "data_set_attached", slug)
    return instance


def detach_data_set(*, renter: User, slug: str, instance_id: UUID) -> Instance:
    """Unmount a public data set.

    Raises NotFound or IllegalTransition.
    """
    with use_case():
        any_data_set(slug)
        instance = _locked_stopped(renter, instance_id)
        if attachments.detach_data_set(holder=instance.pk, slug=slug):
            _record_and_wake(instance, "data_set_detached", slug)
    return instance


def attach_for_rent(
    instance: Instance, *, volume_ids: Sequence[UUID], data_sets: Sequence[str] = (), coming: Sequence["Volume"] = ()
) -> None:
    """Attach volumes and data sets of a new instance, inside the use case that rents it.

    Nothing else knows the instance yet, so its row is not locked.
    """
    if volume_ids:
        _mount_volumes(instance, volume_ids, coming)
    for slug in dict.fromkeys(data_sets):
        attachments.attach_data_set(holder=instance.pk, host_id=instance.host_id, slug=slug)


def replace_attachments(instance: Instance, *, volume_ids: Sequence[UUID], coming: Sequence["Volume"] = ()) -> None:
    """Replace the attached volumes at a start, inside its use case, before the state changes."""
    Instance.objects.select_for_update(of=("self",), no_key=True).get(pk=instance.pk)
    _mount_volumes(instance, volume_ids, coming)


def check_not_restoring(instance: Instance) -> None:
    """Raise VolumeBusy while a disk of the instance is being restored.

    Nothing may run on the disk or take it away meanwhile.
    """
    if is_being_restored(instance.pk):
        raise VolumeBusy("A disk of this instance is being restored. Wait until it has finished.")


# Snapshots of data disks.


def snapshot_disk(*, renter: User, instance_id: UUID, name: str = "") -> "Snapshot":
    """Order a snapshot of the data disk, running or not.

    Raises NotFound, IllegalTransition, VolumeBusy or InsufficientFunds.
    """
    with use_case():
        instance = instance_of(renter, instance_id)
        if not instance.data_disk_gb:
            raise IllegalTransition("This instance has no data disk.", state=instance.state, actions=instance.actions)
        if instance.state not in _HAS_A_DISK or instance.started_at is None:
            raise IllegalTransition(
                f"An instance that is {instance.state} has no data disk to copy yet, or it is on its way out.",
                state=instance.state,
                actions=instance.actions,
            )
        snapshot = order_snapshot(
            owner=renter,
            host_id=instance.host_id,
            source_kind=SnapshotSource.DISK,
            source_id=instance.pk,
            source_name=instance.name,
            size_gb=instance.data_disk_gb,
            name=name,
        )
        record_event(instance, kind="snapshot_asked", actor=RENTER, detail=Name(name=snapshot.name))
        touch_renter(instance)
    return snapshot


def restore_disk(*, renter: User, snapshot_id: UUID) -> Instance:
    """Restore the data disk of a stopped instance; whatever was written since is lost.

    Raises NotFound, SnapshotNotReady, IllegalTransition or VolumeBusy.
    """
    with use_case():
        source = snapshot_of(renter.pk, snapshot_id)
        instance = _locked_stopped(renter, source.source_id)
        snapshot = locked_ready(renter, snapshot_id)
        if snapshot.host_id != instance.host_id:
            raise NotFound("The instance has since migrated to another host; create a volume from the snapshot instead.")
        request_restore(snapshot, size_gb=instance.data_disk_gb)
        _record_and_wake(instance, "disk_restored", snapshot.name)
    return instance


def _mount_volumes(instance: Instance, volume_ids: Sequence[UUID], coming: Sequence["Volume"]) -> None:
    attachments.replace_volumes(
        owner_id=instance.renter_id,
        holder=instance.pk,
        host_id=instance.host_id,
        volume_ids=volume_ids,
        coming=[volume.pk for volume in coming],
    )
    start_moving_volumes(instance, coming)


def _locked_stopped(renter: User, instance_id: UUID) -> Instance:
    """Lock a stopped instance and raise its generation.

    A start or stop that has read the row before fails with StaleRow and tries again.
    """
    instance = instance_of(renter, instance_id)
    rows = Instance.objects.select_for_update(of=("self",), no_key=True).filter(pk=instance.pk)
    instance = rows.select_related("host", "offer", "image").get()
    if instance.state not in _AT_REST or not instance.is_proven_stopped:
        raise IllegalTransition(
            f"The instance is {instance.get_state_display()}: stop it first.", state=instance.state, actions=instance.actions
        )
    check_not_restoring(instance)
    Instance.objects.filter(pk=instance.pk).update(generation=F("generation") + 1)
    instance.generation += 1
    return instance


def _record_and_wake(instance: Instance, kind: str, name: str) -> None:
    record_event(instance, kind=kind, actor=RENTER, detail=Name(name=name))
    touch_host(instance)
    touch_renter(instance)
