"""Growing of volumes while instances use them; the new size is charged once the host has made it."""

from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from accounts.models import User
from billing.errors import InsufficientFunds
from common import change_counters, clock
from common.db.transactions import use_case
from common.errors import StaleRow, wrong_field
from common.messages.rendering import columns
from marketplace.constants import DATA_DISK_GB_MAX
from marketplace.hosts.storage_selectors import storage_price
from storage.constants import GROW_WITHIN
from storage.errors import NoStorage, VolumeBusy
from storage.models import Operation, Volume
from storage.operations.metering import close_volume, hold_for_volume, open_volume
from storage.operations.services import request_operation
from storage.states import OperationState, VolumeState
from storage.volumes.selectors import volume_of
from storage.volumes.volumes import check_idle, check_price, lock_volume, promised_gb

KIND: Final = "grow_volume"


def resize_volume(*, owner: User, volume_id: UUID, size_gb: int, max_micros_per_day: int | None = None) -> Volume:
    """Request a larger volume of its host; a volume never gets smaller.

    Where the kernel cannot grow a file system in use, the volume grows at the instance's next start. The present size
    keeps its agreed price, the additional GB cost today's price; the new price holds once the host has grown the
    volume. Raises NotFound, InvalidInput, VolumeBusy, NoStorage, PriceChanged or InsufficientFunds.
    """
    with use_case():
        volume = volume_of(owner.pk, volume_id)
        micros = grown_price(volume, size_gb)
        _check(volume, size_gb, micros, max_micros_per_day)
        before, volume.micros_per_day = volume.micros_per_day, micros
        hold_for_volume(volume)  # the wallet is locked before the volume
        volume.micros_per_day = before
        check_usable(lock_volume(volume.pk))
        Volume.objects.filter(pk=volume.pk).update(failure_code="", **columns("failure_detail", None))
        args = {"volume": volume.pk.hex, "size_gb": str(size_gb), "micros_per_day": str(micros)}
        request_operation(
            host_id=volume.host_id, owner_id=owner.pk, kind=KIND, subject=volume.pk, args=args, within=GROW_WITHIN
        )
    return volume


def grown_price(volume: Volume, size_gb: int) -> int:
    """Return the price per day (micro-units) of the volume once it has this size."""
    return volume.micros_per_day + max(0, size_gb - volume.size_gb) * storage_price(volume.host_id)


def check_usable(volume: Volume) -> None:
    """Raise VolumeBusy unless the volume is ready, paid for, found by its host, and not worked on."""
    if volume.state != VolumeState.READY:
        raise VolumeBusy(f"The volume is {volume.get_state_display()}.")
    if volume.unpaid_since is not None:
        raise VolumeBusy("The volume isn't paid for. Top up first; charging resumes within a minute.")
    if volume.lost_at is not None:
        raise VolumeBusy("Its host can't find the volume. Restore a snapshot, or try again once the volume is back.")
    check_idle(volume.pk)


def _agreed(volume: Volume, size_gb: int) -> int | None:
    """Return the price per day up to which no new consent is needed, or None for any price.

    It is the present price per GB times `size_gb`. A volume that costs nothing at present has no such price.
    """
    return volume.micros_per_day * size_gb // volume.size_gb if volume.micros_per_day else None


def apply_growth_result(operation: Operation) -> None:
    """Apply the result of a growth operation, in the transaction that marks the operation as concluded."""
    volume = Volume.objects.get(pk=operation.subject)
    if volume.state != VolumeState.READY:
        return  # deleted meanwhile: there is nothing to charge
    if operation.state == OperationState.DONE:
        _apply_new_size(volume, operation)
    else:
        code = operation.failure_code or operation.state
        Volume.objects.filter(pk=volume.pk).update(failure_code=code, **columns("failure_detail", operation.last_message))
    change_counters.notify_change(f"user:{volume.owner_id.hex}", f"host:{volume.host_id.hex}")


def _apply_new_size(volume: Volume, operation: Operation) -> None:
    """Store the new size and replace the meter, so that each statement line names its size.

    The former meter ends at the moment at which the new one begins.
    """
    at = operation.ended_at or clock.now()
    close_volume(volume.pk, at=at)
    size_gb, micros = int(operation.args["size_gb"]), int(operation.args["micros_per_day"])
    same = Volume.objects.filter(pk=volume.pk, generation=volume.generation, state=VolumeState.READY)
    if not same.update(size_gb=size_gb, micros_per_day=micros, generation=F("generation") + 1):
        raise StaleRow("It changed meanwhile.")
    volume.refresh_from_db()
    restart_charging(volume, at=at)


def restart_charging(volume: Volume, *, at: datetime) -> None:
    """Open a meter at the volume's present price from `at` on.

    Where the money does not suffice, the volume is marked as unpaid, and the sweep opens the meter once it does.
    """
    unpaid = None
    try:
        with transaction.atomic():  # a savepoint: if the hold fails, coupons that were drawn for it are restored
            hold_for_volume(volume)
            open_volume(volume, at=at)
    except InsufficientFunds:
        unpaid = at
    Volume.objects.filter(pk=volume.pk).update(unpaid_since=unpaid)


def _check(volume: Volume, size_gb: int, micros: int, most: int | None) -> None:
    if not volume.size_gb < size_gb <= DATA_DISK_GB_MAX:
        words = _("A volume can't shrink. Choose %(least)s to %(most)s GB.") % {
            "least": volume.size_gb + 1,
            "most": DATA_DISK_GB_MAX,
        }
        raise wrong_field("size_gb", words)
    if size_gb - volume.size_gb > volume.host.disk_free_gb - promised_gb(volume.host_id):
        raise NoStorage(f"The host {volume.host.name} has no room for {size_gb} GB at the moment.")
    check_price(micros, _agreed(volume, size_gb) if most is None else most)
