"""Data that a host has lost or cannot write: reported to renter and staff, and not charged."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from common.ids import public_id
from common.messages.message import About, Message, Name
from instances.core.failure_messages import VolumeMissing
from instances.core.selectors import any_instance
from instances.metering.meters import close_disk
from instances.metering.reserved_terms import locked_with_wallets
from instances.models import Alert, Instance
from instances.monitoring.alerts import close_by_report, raise_by_report
from marketplace.hosts.incidents import close_incident, open_incident
from storage.volumes.lost import mark_volume_found, mark_volume_lost
from storage.volumes.lost_messages import Disk, DiskMissing, DiskReadOnly
from storage.volumes.selectors import attachments_of, holders_of

if TYPE_CHECKING:
    from storage.models import Volume

DATA_DISK: Final = "data_disk_missing"
VOLUME: Final = "volume_missing"
ROOT: Final = "root_lost"
KINDS: Final = (DATA_DISK, VOLUME, ROOT)
_TROUBLE: Final[Mapping[str, type[DiskMissing | DiskReadOnly]]] = {"missing": DiskMissing, "read_only": DiskReadOnly}


def record_lost_data(instance: Instance, *, code: str, detail: Message | None, at: datetime) -> None:
    """Open an incident for data that the host does not find at a start.

    The meter of a lost data disk or volume is closed. Call it after the change to `failed`, in its transaction, with
    the wallets locked.
    """
    if code not in KINDS:
        return
    params = _on_host(instance, detail)
    open_incident(kind=code, subject=public_id("inst", instance.pk), detail=params)
    if code == DATA_DISK and instance.data_disk_lost_at is None:
        close_disk(instance.pk, at=at)
        Instance.objects.filter(pk=instance.pk).update(data_disk_lost_at=at)
    if code == VOLUME:
        for volume in _missing_volumes(instance, detail):
            mark_volume_lost(volume.pk, detail=detail, at=at)


def found_disk_fields(instance: Instance) -> dict[str, Any]:
    """Return the columns of an instance that runs with its data disk; close incidents about lost data.

    What runs has mounted all its disks, so what was lost is back; the sweeps of disks and storage open its meters
    again.
    """
    if instance.data_disk_lost_at is not None:
        close_incident(kind=DATA_DISK, subject=public_id("inst", instance.pk), closed_by="runs again")
    close_incident(kind=ROOT, subject=public_id("inst", instance.pk), closed_by="runs again")
    if close_incident(kind=VOLUME, subject=public_id("inst", instance.pk), closed_by="runs again"):
        for row in attachments_of([instance.pk]):
            if row.volume is not None:
                mark_volume_found(row.volume.pk)
    return {"data_disk_made": instance.data_disk_gb > 0, "data_disk_lost_at": None}


def close_lost_data(instance: Instance) -> None:
    """Close incidents about the own disks of an instance that is gone; volumes outlive it."""
    for kind in (DATA_DISK, ROOT):
        close_incident(kind=kind, subject=public_id("inst", instance.pk), closed_by="released")


# Reports about mounted disks; call them inside a use case.


def mark_disk_lost(instance_id: UUID, trouble: str, at: datetime) -> None:
    """Close the meter of a damaged data disk, and alert its renter while the data can still be read."""
    instance = locked_with_wallets(instance_id)
    close_disk(instance_id, at=at)
    if not Instance.objects.filter(pk=instance_id, data_disk_lost_at=None).update(data_disk_lost_at=at):
        return
    params = _on_host(instance, _TROUBLE[trouble](disk=Disk.DATA))
    open_incident(kind=DATA_DISK, subject=public_id("inst", instance_id), detail=params)
    raise_by_report(instance, Alert.Kind.DATA_LOST, {"trouble": trouble}, now=at)


def mark_disk_found(instance_id: UUID, at: datetime) -> None:
    """Mark a data disk as found; the sweep of disks opens its meter again."""
    instance = any_instance(instance_id)
    Instance.objects.filter(pk=instance_id).update(data_disk_lost_at=None)
    close_incident(kind=DATA_DISK, subject=public_id("inst", instance_id), closed_by="found again")
    close_by_report(instance, Alert.Kind.DATA_LOST, now=at)


def mark_attached_volume_lost(volume_id: UUID, trouble: str, at: datetime) -> None:
    """Mark a volume as lost, and alert the renter of the instance that it is attached to."""
    volume = mark_volume_lost(volume_id, detail=_TROUBLE[trouble](disk=Disk.VOLUME), at=at)
    holder = holders_of([volume_id]).get(volume_id)
    if holder is not None:
        facts = {"trouble": trouble, "volume": volume.name}
        raise_by_report(any_instance(holder), Alert.Kind.DATA_LOST, facts, now=at, key=volume_id.hex)


def mark_attached_volume_found(volume_id: UUID, at: datetime) -> None:
    mark_volume_found(volume_id)
    holder = holders_of([volume_id]).get(volume_id)
    if holder is not None:
        close_by_report(any_instance(holder), Alert.Kind.DATA_LOST, now=at, key=volume_id.hex)


def _on_host(instance: Instance, what: Message | None) -> Message:
    name = instance.host.name
    return Name(name=name) if what is None else About(name=name, what=what)


def _missing_volumes(instance: Instance, detail: Message | None) -> "list[Volume]":
    """Return the volumes that the host does not find: the only one, or the one that the host names."""
    rows = attachments_of([instance.pk])
    volumes = [row.volume for row in rows if row.volume is not None]
    if len(rows) == len(volumes) == 1:
        return volumes
    named = detail.volume if isinstance(detail, VolumeMissing) else ""
    return [volume for volume in volumes if named in (volume.pk.hex, volume.name)]
