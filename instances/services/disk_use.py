"""How full the disks of a host are: its instances' data disks, and the volumes on it."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from common.database import use_case
from instances.selectors import ids_of_host
from storage.selectors.volumes import volume_ids_on_host
from storage.services.disk_use import DiskUseRow, record_disk_use


def note_disk_use(*, host_id: UUID, rows: Sequence[DiskUseRow], at: datetime) -> int:
    """Take in what the host's agent says of disks that are its own; how many."""
    told = [row.id for row in rows]
    subjects = ids_of_host(host_id, told) | volume_ids_on_host(host_id, told)
    with use_case():
        return record_disk_use(host_id=host_id, rows=rows, subjects=subjects, at=at)
