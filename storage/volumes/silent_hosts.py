"""Meters of storage on silent hosts: paused at the last report, resumed with the next one."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from billing.constants import SNAPSHOT_SOURCE, VOLUME_SOURCE
from billing.metering.costs import metered_sources
from billing.metering.holds import pause_source
from billing.metering.host_fault_credits import credit_source
from billing.metering.source_selectors import paused_sources
from common.db.transactions import use_case
from storage.operations.metering import open_snapshot, open_volume
from storage.volumes.selectors import charged_snapshots, charged_volumes, silent_snapshots, silent_volumes

MARKET: Final = "market"
REFUND_REASON: Final = "given back, its host did not report"


def pause_silent(*, source_kind: str, last_reports: Mapping[UUID, datetime], now: datetime) -> int:
    """Pause the meters of these sources at their hosts' last reports and return their number.

    Their holds are kept.
    """
    metered = metered_sources(source_kind=source_kind, source_ids=sorted(last_reports)) if last_reports else ()
    for source_id in sorted(metered):
        _pause(source_kind, source_id, last_reports[source_id], now)
    return len(metered)


def pause_storage(*, now: datetime, host_id: UUID | None = None) -> int:
    """Pause the meters of volumes and snapshots on all silent hosts, or on this one only.

    With `host_id`, the host was silent until now.
    """
    volumes, snapshots = silent_volumes(now, host_id), silent_snapshots(now, host_id)
    return pause_silent(source_kind=VOLUME_SOURCE, last_reports=volumes, now=now) + pause_silent(
        source_kind=SNAPSHOT_SOURCE, last_reports=snapshots, now=now
    )


def resume_storage(*, now: datetime) -> int:
    """Open the meters of volumes and snapshots whose hosts report again, and return their number."""
    volumes = {row.pk: row for row in charged_volumes(now)}
    snapshots = {row.pk: row for row in charged_snapshots(now)}
    there = paused(VOLUME_SOURCE, volumes)
    kept = paused(SNAPSHOT_SOURCE, snapshots)
    for volume_id in there:
        with use_case():
            open_volume(volumes[volume_id], at=now)
    for snapshot_id in kept:
        with use_case():
            open_snapshot(snapshots[snapshot_id], at=now)
    return len(there) + len(kept)


def paused(source_kind: str, source_ids: Collection[UUID]) -> list[UUID]:
    return sorted(paused_sources(source_kind=source_kind, source_ids=source_ids)) if source_ids else []


def _pause(source_kind: str, source_id: UUID, since: datetime, now: datetime) -> None:
    """Pause a source's meter and refund what was charged for the time after the last report.

    An hour may have been charged before the host was known to be silent.
    """
    with use_case():
        pause_source(source_kind=source_kind, source_id=source_id, at=since)
        credit_source(
            source_kind=source_kind,
            source_id=source_id,
            key=f"{source_kind}:{source_id.hex}:silent-{since:%Y%m%dT%H%M%S.%f}",
            since=since,
            until=now,
            reason=REFUND_REASON,
            actor=MARKET,
        )
