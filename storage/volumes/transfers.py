"""Orders of volume transfers: moves within a region, copies to any region.

The source is kept until all data has arrived.
"""

import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.models import User
from common import clock
from common.db.transactions import use_case
from common.errors import wrong_field
from common.messages.rendering import columns
from marketplace.hosts.storage_selectors import StorageHost, storage_host
from storage.constants import CARRY_WITHIN, TICKET_SPARE, VOLUMES_AT_MOST
from storage.errors import NoStorage, TooManyVolumes, VolumeBusy
from storage.models import Volume, VolumeMove
from storage.operations.metering import hold_for_volume
from storage.operations.services import request_operation
from storage.states import VolumeMoveKind, VolumeState
from storage.volumes.grow import check_usable
from storage.volumes.selectors import volume_of, volumes_of
from storage.volumes.transfer_selectors import open_volume_moves
from storage.volumes.volumes import (
    OWNER,
    change_volume_state,
    check_name,
    check_price,
    check_unused,
    insert_volume,
    lock_volume,
    promised_gb,
)

SEND: Final = "send_volume"
RECEIVE: Final = "receive_volume"
_KEY_BYTES: Final = 32

# Makes the relay ticket with which one of the two hosts ("source" or "target") meets the other; passed in by a higher
# layer.
Ticket = Callable[[UUID, UUID, str, timedelta], str]


def send_volume(
    *, owner: User, volume_id: UUID, host_id: UUID, ticket: Ticket, max_micros_per_day: int | None = None
) -> VolumeMove:
    """Move a volume that is not attached to another host of its region.

    It stays on its host, unchanged, until the other host has all of it. Raises NotFound, InvalidInput, VolumeBusy,
    NoStorage, PriceChanged or InsufficientFunds.
    """
    with use_case():
        volume, host = volume_of(owner.pk, volume_id), storage_host(host_id)
        return start_move(volume, host, ticket=ticket, max_micros_per_day=max_micros_per_day)


def copy_volume(
    *, owner: User, volume_id: UUID, host_id: UUID, name: str, ticket: Ticket, max_micros_per_day: int | None = None
) -> VolumeMove:
    """Copy a volume that is not attached into a new one on another host, of any region.

    Raises what `send_volume` raises, and VolumeNameTaken or TooManyVolumes.
    """
    check_name(name)
    with use_case():
        volume, host = volume_of(owner.pk, volume_id), storage_host(host_id)
        if volumes_of(owner.pk).count() >= VOLUMES_AT_MOST:
            raise TooManyVolumes(f"One person has at most {VOLUMES_AT_MOST} volumes.")
        target = Volume(
            owner=owner,
            host_id=host.id,
            name=name,
            size_gb=volume.size_gb,
            micros_per_day=host.micros_gb_day * volume.size_gb,
            created_at=clock.now(),
        )
        _check(volume, host)
        check_price(target.micros_per_day, max_micros_per_day)
        hold_for_volume(target)
        _claim_volume(volume, VolumeState.COPYING, "copy_asked")
        insert_volume(target)
        row = _insert_transfer(VolumeMoveKind.COPY, volume, target, host, target.micros_per_day)
        _request_operations(row, ticket)
    return row


def start_move(
    volume: Volume,
    host: StorageHost,
    *,
    ticket: Ticket,
    waits_for: UUID | None = None,
    max_micros_per_day: int | None = None,
) -> VolumeMove:
    """Start the move of a volume, inside a use case.

    `waits_for` is the instance that the volume is to be attached to, which starts when it has arrived.
    """
    if volume.host.region != host.region:
        raise wrong_field(
            "host",
            _("A volume can only move within its region (%(region)s). Copy it instead.") % {"region": volume.host.region},
        )
    _check(volume, host)
    micros = host.micros_gb_day * volume.size_gb
    check_price(micros, max_micros_per_day)
    before, volume.micros_per_day = volume.micros_per_day, max(micros, volume.micros_per_day)
    hold_for_volume(volume)  # the wallet is locked before the volume
    volume.micros_per_day = before
    _claim_volume(volume, VolumeState.MOVING, "move_asked")
    row = _insert_transfer(VolumeMoveKind.MOVE, volume, volume, host, micros)
    if waits_for is not None:
        row.waits_for = waits_for
        row.save(update_fields=["waits_for"])
    _request_operations(row, ticket)
    return row


def _check(volume: Volume, host: StorageHost) -> None:
    if host.id == volume.host_id:
        raise wrong_field("host", _("The volume is already on this host."))
    if host.runtime != volume.host.runtime:
        raise wrong_field("host", _("Volumes can't be transferred between simulated and real hosts."))
    if volume.size_gb > host.disk_free_gb - promised_gb(host.id):
        raise NoStorage(f"The host {host.name} has no room for {volume.size_gb} GB at the moment. Choose another one.")


def _claim_volume(volume: Volume, target: VolumeState, reason: str) -> None:
    """Put the volume into a transfer's state, in which it cannot be attached, copied or deleted."""
    locked = lock_volume(volume.pk)
    check_usable(locked)
    check_unused(locked)
    if volume.pk in open_volume_moves([volume.pk]):
        raise VolumeBusy("Its last migration is still being cleaned up. Try again in a minute.")
    change_volume_state(volume, target, reason=reason, actor=OWNER, failure_code="", **columns("failure_detail", None))


def _insert_transfer(
    kind: VolumeMoveKind, source: Volume, target: Volume, host: StorageHost, micros_per_day: int
) -> VolumeMove:
    return VolumeMove.objects.create(
        kind=kind,
        owner_id=source.owner_id,
        source=source,
        target=target,
        from_host_id=source.host_id,
        to_host_id=host.id,
        micros_per_day=micros_per_day,
        created_at=clock.now(),
    )


def _request_operations(row: VolumeMove, ticket: Ticket) -> None:
    """Request both operations; the hosts meet at the relay with a key that only these two receive."""
    size_gb, key = str(row.source.size_gb), secrets.token_hex(_KEY_BYTES)
    args = {"source": row.source_id.hex, "target": row.target_id.hex, "size_gb": size_gb, "pair": row.pk.hex}
    for kind, host_id, side in ((SEND, row.from_host_id, "source"), (RECEIVE, row.to_host_id, "target")):
        request_operation(
            host_id=host_id,
            owner_id=row.owner_id,
            kind=kind,
            subject=row.pk,
            args=args,
            secrets={"ticket": ticket(row.pk, host_id, side, CARRY_WITHIN + TICKET_SPARE), "key": key},
            within=CARRY_WITHIN,
        )
