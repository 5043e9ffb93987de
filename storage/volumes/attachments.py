"""Attachments of volumes and public data sets to instances.

A volume is written by one instance alone, a data set is read by many. The functions are parts of use cases in
`instances`, which have locked the instance's row and checked that none of its containers runs.
"""

from collections.abc import Sequence
from uuid import UUID

from django.db import IntegrityError

from common import clock
from storage.constants import MOUNTS_AT_MOST
from storage.errors import TooManyVolumes, VolumeBusy, VolumeElsewhere
from storage.models import Attachment, DataSet, Volume
from storage.states import VolumeState
from storage.volumes.selectors import attachments_of, data_set_named, holders_of, volume_of
from storage.volumes.volumes import lock_volume


def attach(*, owner_id: UUID, holder: UUID, host_id: UUID, volume_id: UUID) -> Volume:
    """Attach a volume to its only writer.

    Raises NotFound, VolumeElsewhere, VolumeBusy or TooManyVolumes.
    """
    volume = volume_of(owner_id, volume_id)
    if volume.host_id != host_id:
        raise VolumeElsewhere(
            f"The volume {volume.name} lies on the host {volume.host.name}: attach it to an instance there."
        )
    _check_room(holder)
    locked = lock_volume(volume.pk)
    if locked.state != VolumeState.READY:
        raise VolumeBusy(f"The volume {volume.name} is {locked.get_state_display()}.")
    present = holders_of([volume.pk]).get(volume.pk)
    if present == holder:
        return volume
    if present is not None:
        raise VolumeBusy(
            f"The volume {volume.name} is attached to another instance; only one instance can write to a volume."
        )
    _insert(Attachment(holder=holder, host_id=host_id, volume=volume, attached_at=clock.now()))
    return volume


def attach_arriving(*, holder: UUID, host_id: UUID, volume: Volume) -> None:
    """Attach a volume that is being transferred to this host to its only writer.

    Raises TooManyVolumes or VolumeBusy.
    """
    _check_room(holder)
    _insert(Attachment(holder=holder, host_id=host_id, volume=volume, attached_at=clock.now()))


def attach_data_set(*, holder: UUID, host_id: UUID, slug: str) -> DataSet:
    """Mount a public data set.

    Raises NotFound, VolumeElsewhere or TooManyVolumes.
    """
    found = data_set_named(slug)
    if found.snapshot.host_id != host_id:
        raise VolumeElsewhere(f"This dataset is stored on the host {found.snapshot.host.name}: rent there to mount it.")
    _check_room(holder)
    if not Attachment.objects.filter(holder=holder, data_set=found, detached_at=None).exists():
        _insert(Attachment(holder=holder, host_id=host_id, data_set=found, attached_at=clock.now()))
    return found


def detach(*, holder: UUID, volume_id: UUID) -> bool:
    return _end(holder, volume_id=volume_id)


def detach_data_set(*, holder: UUID, slug: str) -> bool:
    return _end(holder, data_set__slug=slug)


def detach_all(*, holder: UUID) -> int:
    """Detach everything from an instance that no longer exists, and return the number of attachments."""
    return Attachment.objects.filter(holder=holder, detached_at=None).update(detached_at=clock.now())


def replace_volumes(
    *, owner_id: UUID, holder: UUID, host_id: UUID, volume_ids: Sequence[UUID], coming: Sequence[UUID] = ()
) -> None:
    """Attach these volumes and detach all others; data sets stay mounted.

    The `coming` volumes are still being transferred from other hosts; they are skipped here and attached by the
    transfer.
    """
    wanted = [volume_id for volume_id in dict.fromkeys(volume_ids) if volume_id not in coming]
    for row in attachments_of([holder]):
        if row.volume_id is not None and row.volume_id not in wanted:
            detach(holder=holder, volume_id=row.volume_id)
    for volume_id in sorted(wanted):  # the order in which volumes are locked
        attach(owner_id=owner_id, holder=holder, host_id=host_id, volume_id=volume_id)


def _end(holder: UUID, **which: object) -> bool:
    rows = Attachment.objects.filter(holder=holder, detached_at=None, **which)
    return rows.update(detached_at=clock.now()) > 0


def _check_room(holder: UUID) -> None:
    if len(attachments_of([holder])) >= MOUNTS_AT_MOST:
        raise TooManyVolumes(f"An instance mounts at most {MOUNTS_AT_MOST} volumes and data sets.")


def _insert(row: Attachment) -> None:
    try:
        row.save(force_insert=True)
    except IntegrityError as error:  # the unique constraint: another writer was faster
        raise VolumeBusy("The volume is attached to another instance; only one instance can write to a volume.") from error
