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

MARKET: Final = "market"
UNPAID: Final = "unpaid"

Kept = Volume | Snapshot


def follow_storage_money(*, now: datetime) -> int:
    """Close meters whose money is used up and open those with money again; return how many were changed.

    The time between is not charged.
    """
    ended = [_end(Volume, close_volume, each, now) for each in exhausted_sources(source_kind=VOLUME_SOURCE, now=now)]
    ended += [_end(Snapshot, close_snapshot, each, now) for each in exhausted_sources(source_kind=SNAPSHOT_SOURCE, now=now)]
    return sum(ended) + _begin_volumes(now) + _begin_snapshots(now)


def delete_again(*, now: datetime) -> int:
    """Request interrupted deletions again; what was on a host that was written off is marked as deleted."""
    return sum(_volume_again(row, now) for row in volumes_to_delete_again()) + sum(
        _snapshot_again(row, now) for row in snapshots_to_delete_again()
    )


def delete_unpaid(*, now: datetime) -> int:
    """Delete the volumes and snapshots that nobody has paid for during the whole retention period."""
    return sum(_drop_unpaid(volumes.drop_volume, row) for row in unpaid_volumes(now)) + sum(
        _drop_unpaid(snapshots.drop_snapshot, row) for row in unpaid_snapshots(now)
    )


def _end(model: type[Volume] | type[Snapshot], close: Callable[..., None], kept_id: UUID, now: datetime) -> bool:
    with use_case():
        close(kept_id, at=now)
        model.objects.filter(pk=kept_id, unpaid_since=None).update(unpaid_since=now)
    return True


def _begin_volumes(now: datetime) -> int:
    candidates = charged_volumes(now)
    metered = open_holds(source_kind=VOLUME_SOURCE, source_ids=[row.pk for row in candidates])
    return sum(_begin(row, hold_for_volume, open_volume, now) for row in candidates if row.pk not in metered)


def _begin_snapshots(now: datetime) -> int:
    candidates = charged_snapshots(now)
    metered = open_holds(source_kind=SNAPSHOT_SOURCE, source_ids=[row.pk for row in candidates])
    return sum(_begin(row, hold_for_snapshot, open_snapshot, now) for row in candidates if row.pk not in metered)


def _begin(row: Kept, hold: Callable[..., None], begin: Callable[..., None], now: datetime) -> bool:
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


def _volume_again(row: Volume, now: datetime) -> bool:
    with use_case():
        locked = volumes.lock_volume(row.pk)
        if locked.state != VolumeState.DELETING:
            return False
        if locked.host.state == HostState.RETIRED:
            volumes.leave(locked, at=now)
        else:
            volumes.ask_to_drop(locked)
    return True


def _snapshot_again(row: Snapshot, now: datetime) -> bool:
    with use_case():
        if row.host.state == HostState.RETIRED:
            snapshots.leave(row, at=now)
        else:
            snapshots.ask_to_drop(row)
    return True


def _drop_unpaid(drop: Callable[..., None], row: Kept) -> bool:
    try:
        with use_case():
            drop(row, reason=UNPAID, actor=MARKET)
            change_counters.touch(f"user:{row.owner_id.hex}")
    except DomainError:  # in use after all: the next run tries again
        return False
    return True
