"""What hosts report of start scripts and readiness checks: stored, and shown to the renter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from instances.models import Instance, LaunchStatus

READY: Final = "ready"
OVER: Final = ("ended", "lost")


@dataclass(frozen=True)
class StatusRow:
    """What one report says of the start script and the readiness of one instance."""

    on_start: str
    exit_code: int | None
    ready: str


def statuses_of(instance_ids: Sequence[UUID]) -> dict[UUID, LaunchStatus]:
    """Return the stored statuses by instance, in one query."""
    return {row.pk: row for row in LaunchStatus.objects.filter(pk__in=instance_ids)} if instance_ids else {}


def changed_statuses(rows: Mapping[UUID, tuple[int, StatusRow]]) -> dict[UUID, LaunchStatus | None]:
    """Return the stored statuses that differ from the reported ones, by instance; None where none is stored."""
    stored = statuses_of(list(rows))
    return {key: stored.get(key) for key, current in rows.items() if not _is_told(stored.get(key), *current)}


def store_status(instance: Instance, row: StatusRow, *, before: LaunchStatus | None, at: datetime) -> bool:
    """Store a status for the present run; return whether the instance has become ready.

    How the start script ended does not change again in this run, whatever the host says.
    """
    same_run = before is not None and before.generation == instance.run_generation
    ready_at = before.ready_at if before is not None and same_run else None
    script = (row.on_start, row.exit_code)
    if before is not None and same_run and before.on_start in OVER:
        script = (before.on_start, before.exit_code)
    becomes_ready = row.ready == READY and ready_at is None
    values = {
        "generation": instance.run_generation,
        "on_start": script[0],
        "exit_code": script[1],
        "ready": row.ready,
        "ready_at": at if becomes_ready else ready_at,
        "updated_at": at,
    }
    LaunchStatus.objects.update_or_create(instance_id=instance.pk, defaults=values)
    return becomes_ready


def status_of(instance: Instance) -> LaunchStatus | None:
    """Return the status of the present run, or None."""
    if instance.launch_id is None:
        return None
    return LaunchStatus.objects.filter(pk=instance.pk, generation=instance.run_generation).first()


def _is_told(status: LaunchStatus | None, generation: int, row: StatusRow) -> bool:
    if status is None or (status.generation, status.ready) != (generation, row.ready):
        return False
    return status.on_start in OVER or (status.on_start, status.exit_code) == (row.on_start, row.exit_code)
