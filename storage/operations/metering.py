"""Meters of volumes and snapshots: a price per GB and day until their deletion, used or not."""

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from billing.constants import SNAPSHOT_SOURCE, VOLUME_SOURCE
from billing.metering.holds import hold_funds
from billing.metering.meters import close_meter, open_meter
from billing.pricing.rates import hold_of
from billing.pricing.tariffs import Tariff
from common import clock
from marketplace.hosts.storage_selectors import host_owner
from storage.models import Snapshot, Volume
from storage.operations.host_presence import paid_until

GIB: Final = 1024**3


def hold_for_volume(volume: Volume) -> None:
    """Hold the price of one hour of the volume.

    Raises InsufficientFunds or BudgetExceeded.
    """
    _hold(volume.owner_id, VOLUME_SOURCE, volume.pk, volume.micros_per_day)


def open_volume(volume: Volume, *, at: datetime) -> None:
    words = f"Volume {volume.name}, {volume.size_gb} GB"
    _open(volume, VOLUME_SOURCE, words, volume.micros_per_day, at)


def close_volume(volume_id: UUID, *, at: datetime | None = None) -> None:
    _close(VOLUME_SOURCE, Volume.objects.filter(pk=volume_id), volume_id, at)


def snapshot_micros_per_day(snapshot: Snapshot) -> int:
    """Return the price per day for the stored size in whole GB, or while unknown for the whole disk."""
    return snapshot.micros_gb_day * stored_gb(snapshot)


def stored_gb(snapshot: Snapshot) -> int:
    if not snapshot.stored_bytes:
        return snapshot.size_gb
    return min(snapshot.size_gb, max(1, -(-snapshot.stored_bytes // GIB)))


def hold_for_snapshot(snapshot: Snapshot) -> None:
    _hold(snapshot.owner_id, SNAPSHOT_SOURCE, snapshot.pk, snapshot_micros_per_day(snapshot))


def open_snapshot(snapshot: Snapshot, *, at: datetime) -> None:
    words = f"Snapshot {snapshot.name}, {stored_gb(snapshot)} GB stored"
    _open(snapshot, SNAPSHOT_SOURCE, words, snapshot_micros_per_day(snapshot), at)


def close_snapshot(snapshot_id: UUID, *, at: datetime | None = None) -> None:
    _close(SNAPSHOT_SOURCE, Snapshot.objects.filter(pk=snapshot_id), snapshot_id, at)


def _close(source_kind: str, rows: QuerySet[Any], source_id: UUID, at: datetime | None) -> None:
    """Close a meter at `at` (default: now), or at the host's last report where that is too long ago."""
    host_id = rows.values_list("host_id", flat=True).get()
    close_meter(source_kind=source_kind, source_id=source_id, at=paid_until(host_id=host_id, at=at or clock.now()))


def _hold(owner_id: UUID, source_kind: str, source_id: UUID, micros_per_day: int) -> None:
    if micros_per_day:
        tariff = Tariff(micros_per_day, hours=24)
        hold_funds(owner_id=owner_id, amount_micros=hold_of(tariff), source_kind=source_kind, source_id=source_id)


def _open(kept: Volume | Snapshot, source_kind: str, words: str, micros_per_day: int, at: datetime) -> None:
    if not micros_per_day:
        return
    open_meter(
        source_kind=source_kind,
        source_id=kept.pk,
        payer_id=kept.owner_id,
        payee_id=host_owner(kept.host_id),
        label=words[:200],
        tariff=Tariff(micros_per_day, hours=24),
        at=at,
        calendar=True,
    )
