"""Retention of a stopped instance's data: its free time, and what its renter pays for after that."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.models import User
from billing.constants import RETENTION_SOURCE
from billing.ledger.order_log import record_order
from billing.metering.costs import open_holds
from billing.metering.escrow import lock_parties
from billing.metering.holds import hold_funds
from billing.metering.meters import cap_meter, open_meter
from billing.metering.source_selectors import last_openings
from billing.pricing.rates import hold_of
from billing.pricing.tariffs import Tariff
from common import clock
from common.db.transactions import use_case
from common.errors import IllegalTransition, StaleRow, wrong_field
from common.messages.message import Micros
from common.money import format_money
from instances.constants import KEEP_AHEAD, KEEP_DAYS_MAX, KEEP_ROOT_GB, KEPT_AFTER_LINE
from instances.core.money_messages import DataKept
from instances.core.selectors import instance_of
from instances.core.timer_selectors import no_longer_retained, retention_to_open
from instances.core.transitions import RENTER, record_event, touch_renter
from instances.metering.meters import close_clocked_meter, scope_of
from instances.metering.reserved_terms import locked_with_wallets, payee_of, update_locked_columns
from instances.models import Instance
from instances.states import InstanceState
from marketplace.constants import FREE_DATA_DISK_GB
from marketplace.errors import PriceChanged

_KEPT: Final = (InstanceState.STOPPED, InstanceState.FAILED)
_ONE_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True)
class KeepPrice:
    """Price of further days: held at once, charged by the day from `paid_from` until `until`."""

    days: int
    gb: int
    micros_per_gb_day: int
    fee_micros: int
    paid_from: datetime
    until: datetime


def keep_price(instance: Instance, *, days: int) -> KeepPrice:
    """Return the price of keeping the data so many days more.

    It is the disk's price for the root and for the part of the data disk within the free quota; the rest of the disk
    is charged anyway. The offer must be loaded. Data that is kept for a fee already keeps the price of its first day.
    """
    assert instance.release_at is not None
    gb = kept_gb(instance)
    daily = daily_micros(instance)
    return KeepPrice(
        days=days,
        gb=gb,
        micros_per_gb_day=daily // gb,
        fee_micros=daily * days,
        paid_from=instance.paid_from or instance.release_at,
        until=instance.release_at + timedelta(days=days),
    )


def kept_gb(instance: Instance) -> int:
    return KEEP_ROOT_GB + min(instance.data_disk_gb, FREE_DATA_DISK_GB)


def can_be_kept(instance: Instance) -> bool:
    """Return whether the data has a deletion date that can be postponed."""
    return instance.state in _KEPT and instance.is_proven_stopped and instance.release_at is not None


def keep_data(*, renter: User, instance_id: UUID, days: int, max_fee_micros: int | None = None) -> Instance:
    """Keep the data of a stopped instance so many days more.

    The whole fee is held now; a start or a release before the end returns the unused part. Raises IllegalTransition,
    InvalidInput, PriceChanged or InsufficientFunds.
    """
    with use_case():
        found = instance_of(renter, instance_id)
        lock_parties(renter_id=renter.pk, host_owner_id=payee_of(found))
        instance = instance_of(renter, instance_id)
        _check(instance, days)
        price = keep_price(instance, days=days)
        if max_fee_micros is not None and price.fee_micros > max_fee_micros:
            raise PriceChanged(f"It costs {format_money(price.fee_micros)} now.", fee=format_money(price.fee_micros))
        _pay(instance, price, at=clock.now())
        daily = daily_micros(instance)
        update_locked_columns(instance, release_at=price.until, paid_from=price.paid_from, retention_micros_per_day=daily)
        _record_order(instance, price)
    return instance


def update_retention_meters(*, now: datetime) -> int:
    """Open and close the meters of paid retention; return how many have changed.

    This is a sweep.
    """
    ended = [_end(instance_id) for instance_id in no_longer_retained(list(open_holds(source_kind=RETENTION_SOURCE)))]
    return sum(_open_isolated(instance_id, now) for instance_id in retention_to_open(now)) + sum(ended)


def close_paid_retention(instance: Instance) -> None:
    """Close the meter of paid retention for a start, which frees the unused hold; after `lock_parties`."""
    if instance.paid_from is not None:
        close_clocked_meter(RETENTION_SOURCE, instance.pk)


def resume_paid_retention(instance: Instance, *, at: datetime) -> bool:
    """Resume the meter of paid retention when the host reports again; after `lock_parties`."""
    if instance.state not in _KEPT or instance.paid_from is None:
        return False
    _open_if_due(instance, at=at)
    return True


def free_time_left(instance: Instance) -> timedelta | None:
    """Return what is left of the free time for an instance that queues, in case that it leaves the queue."""
    ends = instance.paid_from or instance.release_at
    return None if ends is None else max(KEPT_AFTER_LINE, ends - clock.now())


def daily_micros(instance: Instance) -> int:
    return instance.retention_micros_per_day or instance.offer.disk_micros_gb_day * kept_gb(instance)


def _check(instance: Instance, days: int) -> None:
    if not can_be_kept(instance):
        raise IllegalTransition(
            "Only the data of a stopped instance has a date that can be put off.",
            state=instance.state,
            actions=instance.actions,
        )
    if not 1 <= days <= KEEP_DAYS_MAX:
        raise wrong_field("days", _("Choose 1 to %(most)s days.") % {"most": KEEP_DAYS_MAX})
    assert instance.release_at is not None
    if instance.release_at + timedelta(days=days) > clock.now() + KEEP_AHEAD:
        raise wrong_field("days", _("Data can be kept up to %(days)s days ahead.") % {"days": KEEP_AHEAD.days})


def _pay(instance: Instance, price: KeepPrice, *, at: datetime) -> None:
    """Hold the fee.

    Where paid retention runs already, it is charged up to now and goes on with the larger hold.
    """
    runs = instance.paid_from is not None and instance.paid_from <= at
    if runs:
        _open_if_due(instance, at=at)
        close_clocked_meter(RETENTION_SOURCE, instance.pk, at=at)
    hours = -((at if runs else price.paid_from) - price.until) // _ONE_HOUR
    tariff = Tariff(daily_micros(instance), hours=24)
    hold_funds(
        owner_id=instance.renter_id,
        amount_micros=hold_of(tariff, hours),
        source_kind=RETENTION_SOURCE,
        source_id=instance.pk,
        scope=scope_of(instance),
    )
    if runs:
        _open(instance, daily_micros=tariff.rate_micros, at=at, until=price.until)


def _open_isolated(instance_id: UUID, now: datetime) -> bool:
    try:
        with use_case():
            instance = locked_with_wallets(instance_id)
            if instance.state not in _KEPT or instance.paid_from is None or instance.paid_from > now:
                return False
            _open_if_due(instance, at=now)
    except StaleRow:
        return False
    return True


def _end(instance_id: UUID) -> bool:
    """Close the meter of an instance that runs or is gone, which frees the hold."""
    with use_case():
        instance = locked_with_wallets(instance_id)
        if instance.paid_from is not None:
            return False
        close_clocked_meter(RETENTION_SOURCE, instance_id)
    return True


def _open_if_due(instance: Instance, *, at: datetime) -> None:
    """Open the meter of paid retention, if it is not open.

    It begins at the end of the free time even if the sweep came later; after a silence of the host it begins at `at`.
    """
    assert instance.paid_from is not None
    assert instance.release_at is not None
    begun = last_openings(source_kind=RETENTION_SOURCE, source_ids=[instance.pk]).get(instance.pk)
    begins = at if begun is not None and begun >= instance.paid_from else min(instance.paid_from, at)
    _open(instance, daily_micros=instance.retention_micros_per_day, at=begins, until=instance.release_at)


def _open(instance: Instance, *, daily_micros: int, at: datetime, until: datetime) -> None:
    gb = kept_gb(instance)
    open_meter(
        source_kind=RETENTION_SOURCE,
        source_id=instance.pk,
        payer_id=instance.renter_id,
        payee_id=payee_of(instance),
        label=f"{instance.name}: {gb} GB kept after the free time"[:200],
        tariff=Tariff(daily_micros, hours=24),
        at=at,
        calendar=True,
    )
    cap_meter(source_kind=RETENTION_SOURCE, source_id=instance.pk, at=until)


def _record_order(instance: Instance, price: KeepPrice) -> None:
    """Record an order and an event."""
    fee = format_money(price.fee_micros)
    record_order(
        owner_id=instance.renter_id,
        kind="renewal",
        key=f"retention:{instance.pk.hex}:{price.until:%Y%m%dT%H%M%S.%f}",
        source_kind=RETENTION_SOURCE,
        source_id=instance.pk,
        title=f"{instance.name}: data kept {price.days} days longer, up to {fee}",
        billing_mode=instance.billing_mode,
    )
    detail = DataKept(days=price.days, fee=Micros(price.fee_micros), at=price.until)
    record_event(instance, kind="data_kept", actor=RENTER, detail=detail)
    touch_renter(instance)
