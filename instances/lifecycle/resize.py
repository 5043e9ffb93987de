"""Resizing: another number of GPUs for a stopped instance, a larger data disk for any.

The price is quoted before.
"""

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.models import User
from billing.metering.escrow import lock_parties
from billing.pricing.estimates import RESERVED, SPOT, TIERED
from common.db.transactions import use_case
from common.errors import FieldError, IllegalTransition, InvalidInput, wrong_field
from common.messages.message import Micros
from common.money import format_money
from instances.core.event_messages import Resized
from instances.core.selectors import instance_of
from instances.core.transitions import RENTER, check_action, record_event, touch_renter
from instances.lifecycle.grow_disk import check_growth, disk_price, grow
from instances.metering.reserved_terms import payee_of, update_locked_columns
from instances.models import Instance, SpotBid
from instances.spot.bids import bid_of
from instances.states import BidState, InstanceState
from marketplace.constants import FREE_DATA_DISK_GB
from marketplace.errors import PriceChanged
from marketplace.pricing.prices import discounted

_AT_REST: Final = (InstanceState.STOPPED, InstanceState.FAILED)


@dataclass(frozen=True)
class Size:
    """Size and price of an instance: all its GPUs per hour of running, its disk per day, in micro-units."""

    gpu_count: int
    data_disk_gb: int
    rate_micros: int
    disk_micros_per_day: int


def size_of(instance: Instance) -> Size:
    return Size(instance.gpu_count, instance.data_disk_gb, instance.rate_micros_per_hour, instance.disk_micros_per_day)


def price_of_size(instance: Instance, *, gpu_count: int | None, data_disk_gb: int | None) -> Size:
    """Return an instance's new size at the offer's present prices; None leaves a part as it is.

    The offer must be loaded. Raises InvalidInput, DiskTooLarge or IllegalTransition.
    """
    check_action(instance, "resize")
    count = instance.gpu_count if gpu_count is None else gpu_count
    size = instance.data_disk_gb if data_disk_gb is None else data_disk_gb
    rate = instance.rate_micros_per_hour
    if count != instance.gpu_count:
        _check_count(instance, count)
        rate = _unit_price(instance) * count
    if size != instance.data_disk_gb:
        check_growth(instance, size)
    return Size(count, size, rate, disk_price(instance, size))


def resize_instance(
    *,
    renter: User,
    instance_id: UUID,
    gpu_count: int | None = None,
    data_disk_gb: int | None = None,
    max_rate_micros: int | None = None,
    max_disk_micros_per_day: int | None = None,
) -> Instance:
    """Change the number of GPUs from the next start on, or grow the data disk, or both.

    The new disk size holds once the host has made it; a disk never gets smaller. Raises IllegalTransition, InvalidInput,
    DiskTooLarge, InsufficientFunds, or PriceChanged for a price above the accepted one.
    """
    with use_case():
        instance = instance_of(renter, instance_id)
        check_action(instance, "resize")
        lock_parties(renter_id=renter.pk, host_owner_id=payee_of(instance))
        instance = instance_of(renter, instance_id)
        before = size_of(instance)
        wanted = price_of_size(instance, gpu_count=gpu_count, data_disk_gb=data_disk_gb)
        if wanted == before:
            raise _nothing_asked()
        _check_price(instance, wanted, max_rate_micros, max_disk_micros_per_day)
        if wanted.gpu_count != before.gpu_count:
            _set_count(instance, wanted)
        if wanted.data_disk_gb != before.data_disk_gb:
            grow(instance, wanted.data_disk_gb)
        touch_renter(instance)
    return instance


def _nothing_asked() -> InvalidInput:
    detail = _("Choose a different number of GPUs or a larger data disk.")
    return InvalidInput(detail, errors=[FieldError("gpu_count", "required", detail)])


def _check_count(instance: Instance, count: int) -> None:
    offer = instance.offer
    if not 1 <= count <= offer.gpu_total:
        raise wrong_field("gpu_count", _("Choose 1 to %(most)s GPUs.") % {"most": offer.gpu_total})
    if instance.billing_mode == RESERVED:
        raise IllegalTransition("The number of GPUs is fixed for the reserved term; change it once the term has ended.")
    if instance.state not in _AT_REST:
        raise IllegalTransition("Stop the instance to change the number of GPUs.", actions=instance.actions)
    if instance.holds_gpus:
        raise IllegalTransition("Release the kept GPUs first.", actions=instance.actions)
    bid = bid_of(instance.pk) if instance.billing_mode == SPOT else None
    if bid is not None and bid.state != BidState.ENDED:
        raise IllegalTransition("The instance has an active bid; withdraw it first.", actions=instance.actions)


def _unit_price(instance: Instance) -> int:
    """Return the price per GPU and hour, for a spot rent the floor, since its market sets the price."""
    if instance.billing_mode == SPOT:
        return instance.offer.spot_floor_micros or 0
    return instance.offer.price_micros


def _check_price(instance: Instance, wanted: Size, max_rate_micros: int | None, max_disk_micros_per_day: int | None) -> None:
    """Raise PriceChanged for a higher unit price that was not accepted, as at a start.

    More GPUs or GB at the agreed unit price need no consent.
    """
    rate, daily = wanted.rate_micros, wanted.disk_micros_per_day
    most = _agreed_rate(instance, wanted) if max_rate_micros is None else max_rate_micros
    most_daily = _agreed_daily(instance, wanted) if max_disk_micros_per_day is None else max_disk_micros_per_day
    if rate > most or (most_daily is not None and daily > most_daily) or _tiers_changed(instance, wanted, max_rate_micros):
        raise PriceChanged(
            f"It now costs {format_money(rate)} an hour for its GPUs and {format_money(daily)} a day for its disk."
            " Resize with max_hourly_rate, or max_disk_daily, set to accept it.",
            hourly_rate=format_money(rate),
            disk_daily=format_money(daily),
        )


def _agreed_rate(instance: Instance, wanted: Size) -> int:
    """Return the rate at the agreed price per GPU.

    A spot rent has no agreed rate beside its bid, which is made anew.
    """
    if instance.billing_mode == SPOT:
        return wanted.rate_micros
    return instance.rate_micros_per_hour * wanted.gpu_count // instance.gpu_count


def _agreed_daily(instance: Instance, wanted: Size) -> int | None:
    """Return the price per day at the agreed price per GB, or None without a paid GB so far."""
    paid_gb = instance.data_disk_gb - FREE_DATA_DISK_GB
    if paid_gb <= 0 or not instance.disk_micros_per_day:
        return None
    return instance.disk_micros_per_day * (wanted.data_disk_gb - FREE_DATA_DISK_GB) // paid_gb


def _tiers_changed(instance: Instance, wanted: Size, max_rate_micros: int | None) -> bool:
    """Return whether the tiers differ from the agreed ones per GPU, and no price was accepted."""
    if instance.billing_mode != TIERED or wanted.gpu_count == instance.gpu_count or max_rate_micros is not None:
        return False
    offer, before = instance.offer, instance.gpu_count
    present = [[hours, discounted(offer.price_micros, off_bps) * before] for hours, off_bps in offer.tiers]
    return bool(present != instance.tiers)


def _set_count(instance: Instance, wanted: Size) -> None:
    offer, count = instance.offer, wanted.gpu_count
    fields: dict[str, Any] = {
        "gpu_count": count,
        "rate_micros_per_hour": wanted.rate_micros,
        "cpu_millis": offer.cpu_millis_per_gpu * count,
        "ram_mb": offer.ram_mb_per_gpu * count,
    }
    if instance.billing_mode == TIERED:
        fields["tiers"] = [[hours, discounted(offer.price_micros, off_bps) * count] for hours, off_bps in offer.tiers]
    detail = Resized(before=instance.gpu_count, after=count, rate=Micros(wanted.rate_micros))
    SpotBid.objects.filter(pk=instance.pk).update(gpu_count=count)
    update_locked_columns(instance, **fields)
    record_event(instance, kind="resized", actor=RENTER, detail=detail)
