"""How full the disks of a host are, and what is wrong with them: its instances' data disks, and the volumes on it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from common.db.transactions import use_case
from instances.core.selectors import ids_of_host, lost_disks_among
from instances.monitoring.lost_data import find_disk, find_volume_of, lose_disk, lose_volume_of
from storage.volumes.selectors import lost_volumes_among, volume_ids_on_host
from storage.volumes.usage import DiskUseRow, record_disk_use

Since = Mapping[UUID, datetime | None]


def note_disk_use(*, host_id: UUID, rows: Sequence[DiskUseRow], at: datetime) -> int:
    """Take in what the host's agent says of disks that are its own; how many."""
    told = [row.id for row in rows]
    subjects = ids_of_host(host_id, told) | volume_ids_on_host(host_id, told)
    with use_case():
        noted = record_disk_use(host_id=host_id, rows=rows, subjects=subjects, at=at)
    looked_at = [row for row in rows if row.trouble is not None]  # an older agent does not say
    if looked_at:
        told = [row.id for row in looked_at]
        _follow(looked_at, lost_disks_among(host_id, told), lose_disk, find_disk, at)
        _follow(looked_at, lost_volumes_among(host_id, told), lose_volume_of, find_volume_of, at)
    return noted


def _follow(
    rows: Sequence[DiskUseRow],
    lost: Since,
    lose: Callable[[UUID, str, datetime], None],
    find: Callable[[UUID, datetime], None],
    at: datetime,
) -> None:
    """What is told again changes nothing; each disk has a transaction of its own."""
    for row in rows:
        if row.id not in lost or bool(row.trouble) == (lost[row.id] is not None):
            continue
        with use_case():
            if row.trouble:
                lose(row.id, row.trouble, at)
            else:
                find(row.id, at)
