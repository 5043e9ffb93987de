"""Sweeps of volumes and snapshots.

They close the meters of wallets without money, repeat interrupted deletions, and delete unpaid storage.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Final
from uuid import UUID

from billing.constants import SNAPSHOT_SOURCE, VOLUME_SOURCE
from billing.errors import InsufficientFunds
from billing.metering.costs import exhausted_sources, open_holds
from common import change_counters
from common.db.transactions import use_case
from common.errors import DomainError, StaleRow
from marketplace.states import HostState
from storage.models import Snapshot, Volume
from storage.operations.metering import (
    close_snapshot,
    close_volume,
    hold_for_snapshot,
    hold_for_volume,
    open_snapshot,
    open_volume,
)
from storage.states import VolumeState
from storage.volumes import snapshots, volumes
from storage.volumes.selectors import (
    charged_snapshots,
    charged_volumes,
    snapshots_to_delete_again,
    unpaid_snapshots,
    unpaid_volumes,
    volumes_to_delete_again,
)
from storage.volumes.silent_hosts import pause_storage

MARKET: Final = "market"
UNPAID: Final = "unpaid"

StoredItem = Volume | Snapshot


def update_storage_meters(*, now: datetime) -> int:
    """Close meters whose money is used up and open those with money again; return how many were changed.

    The time between is not charged. Those on silent hosts are paused first: after an outage of that sweep they would else
    be taken for unpaid.
    """
    pause_storage(now=now)
    ended = [_end(Volume, close_volume, each, now) for each in exhausted_sources(source_kind=VOLUME_SOURCE, now=now)]
    ended += [_end(Snapshot, close_snapshot, each, now) for each in exhausted_sources(source_kind=SNAPSHOT_SOURCE, now=now)]
    return sum(ended) + _open_volume_meters(now) + _open_snapshot_meters(now)


def retry_deletions(*, now: datetime) -> int:
    """Request interrupted deletions again; what was on a host that was written off is marked as deleted."""
    return sum(_retry_volume_deletion(row, now) for row in volumes_to_delete_again()) + sum(
        _retry_snapshot_deletion(row, now) for row in snapshots_to_delete_again()
    )


def delete_unpaid(*, now: datetime) -> int:
    """Delete the volumes and snapshots that nobody has paid for during the whole retention period."""
    return sum(_delete_unpaid(volumes.start_volume_deletion, row) for row in unpaid_volumes(now)) + sum(
        _delete_unpaid(snapshots.start_snapshot_deletion, row) for row in unpaid_snapshots(now)
    )


def _end(model: type[Volume] | type[Snapshot], close: Callable[..., None], kept_id: UUID, now: datetime) -> bool:
    with use_case():
        close(kept_id, at=now)
        model.objects.filter(pk=kept_id, unpaid_since=None).update(unpaid_since=now)
    return True


def _open_volume_meters(now: datetime) -> int:
    candidates = charged_volumes(now)
    metered = open_holds(source_kind=VOLUME_SOURCE, source_ids=[row.pk for row in candidates])
    return sum(_open(row, hold_for_volume, open_volume, now) for row in candidates if row.pk not in metered)


def _open_snapshot_meters(now: datetime) -> int:
    candidates = charged_snapshots(now)
    metered = open_holds(source_kind=SNAPSHOT_SOURCE, source_ids=[row.pk for row in candidates])
    return sum(_open(row, hold_for_snapshot, open_snapshot, now) for row in candidates if row.pk not in metered)


def _open(row: StoredItem, hold: Callable[..., None], begin: Callable[..., None], now: datetime) -> bool:
    """Hold money for a row and open its meter; return False where that is not possible.

    The wallet is locked before the row, which may have changed state since it was read.
    """
    try:
        with use_case():
            hold(row)
            same = type(row).objects.filter(pk=row.pk, state=row.state, generation=row.generation)
            if not same.update(unpaid_since=None):
                raise StaleRow("It changed meanwhile.")
            begin(row, at=now)
    except (InsufficientFunds, StaleRow):
        return False
    return True


def _retry_volume_deletion(row: Volume, now: datetime) -> bool:
    with use_case():
        locked = volumes.lock_volume(row.pk)
        if locked.state != VolumeState.DELETING:
            return False
        if locked.host.state == HostState.RETIRED:
            volumes.mark_gone(locked, at=now)
        else:
            volumes.request_deletion(locked)
    return True


def _retry_snapshot_deletion(row: Snapshot, now: datetime) -> bool:
    with use_case():
        if row.host.state == HostState.RETIRED:
            snapshots.mark_gone(row, at=now)
        else:
            snapshots.request_deletion(row)
    return True


def _delete_unpaid(drop: Callable[..., None], row: StoredItem) -> bool:
    try:
        with use_case():
            drop(row, reason=UNPAID, actor=MARKET)
            change_counters.notify_change(f"user:{row.owner_id.hex}")
    except DomainError:  # in use after all: the next run tries again
        return False
    return True
