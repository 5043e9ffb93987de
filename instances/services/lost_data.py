"""What a host was given to keep and does not find: noted for the operator, and not paid for."""

from datetime import datetime
from typing import Any, Final

from common.ids import public_id
from instances.models import Instance
from instances.services.meters import close_disk
from marketplace.services.incidents import close_incident, open_incident

DATA_DISK: Final = "data_disk_missing"
KINDS: Final = (DATA_DISK, "volume_missing", "root_lost")


def note_lost_data(instance: Instance, *, code: str, detail: str, at: datetime) -> None:
    """Open an incident for what the host does not find, and end the meter of a lost data disk.

    Called after the move to `failed`, in its transaction; wallets are locked.
    """
    if code not in KINDS:
        return
    words = f"{instance.host.name}: {detail}"
    open_incident(kind=code, subject=public_id("inst", instance.pk), detail=words)
    if code == DATA_DISK and instance.data_disk_lost_at is None:
        close_disk(instance.pk, at=at)
        Instance.objects.filter(pk=instance.pk).update(data_disk_lost_at=at)


def found_disk(instance: Instance) -> dict[str, Any]:
    """Return the columns of an instance that has come to run with its data disk, and close the incident of a lost one.

    The sweep of disks meters a disk that is back.
    """
    if instance.data_disk_lost_at is not None:
        close_incident(kind=DATA_DISK, subject=public_id("inst", instance.pk), closed_by="runs again")
    return {"data_disk_made": instance.data_disk_gb > 0, "data_disk_lost_at": None}
