"""Disk usage as hosts report it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from storage.models import DiskUse

_COLUMNS = ("host", "used_mb", "total_mb", "inodes_used", "inodes_total", "at")
_LARGEST = 2**53


@dataclass(frozen=True)
class DiskUseRow:
    """An agent's report of one disk; see the protocol's DiskUse."""

    id: UUID
    used_mb: int
    total_mb: int
    inodes_used: int
    inodes_total: int
    trouble: str | None = None

    @property
    def is_plausible(self) -> bool:
        return 0 <= self.used_mb <= self.total_mb <= _LARGEST and 0 <= self.inodes_used <= self.inodes_total <= _LARGEST


def record_disk_use(*, host_id: UUID, rows: Iterable[DiskUseRow], subjects: Iterable[UUID], at: datetime) -> int:
    """Store the newest reading of each disk of the host, and return their number.

    `subjects` are the disks that belong to the host; impossible readings are ignored.
    """
    own = set(subjects)
    kept = [
        DiskUse(
            subject=row.id,
            host_id=host_id,
            used_mb=row.used_mb,
            total_mb=row.total_mb,
            inodes_used=row.inodes_used,
            inodes_total=row.inodes_total,
            at=at,
        )
        for row in rows
        if row.id in own and row.is_plausible
    ]
    DiskUse.objects.bulk_create(kept, update_conflicts=True, unique_fields=["subject"], update_fields=_COLUMNS)
    return len(kept)
