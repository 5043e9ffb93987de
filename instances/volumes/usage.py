"""Disk usage and trouble that a host reports about its instances' data disks and its volumes."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from common.db.transactions import use_case
from instances.core.selectors import ids_of_host, lost_disks_among
from instances.monitoring.lost_data import (
    mark_attached_volume_found,
    mark_attached_volume_lost,
    mark_disk_found,
    mark_disk_lost,
)
from storage.volumes.selectors import lost_volumes_among, volume_ids_on_host
from storage.volumes.usage import DiskUseRow, record_disk_use

Since = Mapping[UUID, datetime | None]


def record_disk_usage(*, host_id: UUID, rows: Sequence[DiskUseRow], at: datetime) -> int:
    """Store the usage of the host's own disks, and mark lost and found ones.

    Returns how many readings were stored.
    """
    reported = [row.id for row in rows]
    subjects = ids_of_host(host_id, reported) | volume_ids_on_host(host_id, reported)
    with use_case():
        noted = record_disk_use(host_id=host_id, rows=rows, subjects=subjects, at=at)
    looked_at = [row for row in rows if row.trouble is not None]  # older agents do not report trouble
    if looked_at:
        reported = [row.id for row in looked_at]
        _update_lost(looked_at, lost_disks_among(host_id, reported), mark_disk_lost, mark_disk_found, at)
        _update_lost(
            looked_at, lost_volumes_among(host_id, reported), mark_attached_volume_lost, mark_attached_volume_found, at
        )
    return noted


def _update_lost(
    rows: Sequence[DiskUseRow],
    lost: Since,
    lose: Callable[[UUID, str, datetime], None],
    find: Callable[[UUID, datetime], None],
    at: datetime,
) -> None:
    """Mark disks as lost or found where the report differs from the row, each in its own transaction."""
    for row in rows:
        if row.id not in lost or bool(row.trouble) == (lost[row.id] is not None):
            continue
        with use_case():
            if row.trouble:
                lose(row.id, row.trouble, at)
            else:
                find(row.id, at)
