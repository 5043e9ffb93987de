"""Meters of an instance and their prices: its GPUs, its data disk, GPUs kept while stopped."""

from datetime import datetime
from typing import Final
from uuid import UUID

from billing.constants import CPU, DISK_SOURCE, HOLD_SOURCE, HOUR_US, INSTANCE_SOURCE
from billing.metering.holds import hold_funds
from billing.metering.meters import cap_meter, close_meter, open_meter
from billing.pricing.estimates import SPOT, TIERED
from billing.pricing.rates import hold_of
from billing.pricing.tariffs import Scope, Tariff
from common import clock
from instances.constants import CONTINUOUS_WITHIN, STOP_GRACE
from instances.models import Instance
from marketplace.constants import FREE_DATA_DISK_GB
from storage.operations.host_presence import paid_until

GPU_TEXT: Final = "{name}: {count} × {model}"


def use_tariff(instance: Instance) -> Tariff:
    """Return the tariff of all GPUs while the instance runs, with the agreed steps and prices."""
    if instance.runs_without_gpus:
        return Tariff(instance.cpu_micros_per_hour)
    if instance.billing_mode == SPOT:
        return Tariff(instance.rate_micros_per_hour, most_micros=(instance.spot_max_micros or 0) * instance.gpu_count)
    steps = tuple((hours * HOUR_US, rate) for hours, rate in instance.tiers) if instance.billing_mode == TIERED else ()
    return Tariff(instance.rate_micros_per_hour, steps=steps)


def scope_of(instance: Instance) -> Scope:
    """Return the scope for coupons and budgets; the offer must be loaded or `gpu_model` annotated."""
    model = getattr(instance, "gpu_model", None)
    mode = CPU if instance.runs_without_gpus else instance.billing_mode
    return Scope(mode=mode, gpu_model=str(model or instance.offer.gpu_model))


def label_of(instance: Instance, what: str = "") -> str:
    if instance.runs_without_gpus:
        return f"{instance.name}: without a GPU"[:200]
    words = GPU_TEXT.format(name=instance.name, count=instance.gpu_count, model=scope_of(instance).gpu_model)
    return f"{words}, {what}"[:200] if what else words[:200]


def hold_for_use(instance: Instance) -> None:
    """Hold the highest price of one hour of the GPUs, or raise InsufficientFunds."""
    _hold(instance, INSTANCE_SOURCE, use_tariff(instance))


def hold_for_cpu_run(instance: Instance) -> None:
    """Hold the price of one hour without GPUs before such a start, or raise InsufficientFunds."""
    hold_funds(
        owner_id=instance.renter_id,
        amount_micros=hold_of(Tariff(instance.cpu_micros_per_hour)),
        source_kind=INSTANCE_SOURCE,
        source_id=instance.pk,
        scope=Scope(mode=CPU, gpu_model=scope_of(instance).gpu_model),
    )


def open_use(instance: Instance, *, at: datetime, payee_id: UUID, continuous: bool = True) -> None:
    """Open the meter of the GPUs at `at`.

    The hours of a tiered rent go on counting after a pause of at most CONTINUOUS_WITHIN.
    """
    tiered = instance.billing_mode == TIERED and continuous and not instance.runs_without_gpus
    open_meter(
        source_kind=INSTANCE_SOURCE,
        source_id=instance.pk,
        payer_id=instance.renter_id,
        payee_id=payee_id,
        label=label_of(instance),
        tariff=use_tariff(instance),
        at=at,
        continue_within=CONTINUOUS_WITHIN if tiered else None,
    )


def cap_use(instance: Instance) -> None:
    """Cap the meter at a stop request: nothing after now + grace is charged.

    Meters are locked before instances.
    """
    cap_meter(source_kind=INSTANCE_SOURCE, source_id=instance.pk, at=clock.now() + STOP_GRACE)


def close_use(instance_id: UUID) -> None:
    close_meter(source_kind=INSTANCE_SOURCE, source_id=instance_id)


# The data disk above the free quota: from the first lease to the end of the data, running or stopped.


def hold_for_disk(instance: Instance) -> None:
    if instance.disk_micros_per_day:
        _hold(instance, DISK_SOURCE, disk_tariff(instance.disk_micros_per_day))


def open_disk(instance: Instance, *, at: datetime, payee_id: UUID) -> None:
    """Open the meter of the data disk; nothing happens within the quota or for a metered disk."""
    if not instance.disk_micros_per_day:
        return
    paid_gb = instance.data_disk_gb - FREE_DATA_DISK_GB
    open_meter(
        source_kind=DISK_SOURCE,
        source_id=instance.pk,
        payer_id=instance.renter_id,
        payee_id=payee_id,
        label=f"{instance.name}: data disk, {paid_gb} GB above the free {FREE_DATA_DISK_GB}"[:200],
        tariff=disk_tariff(instance.disk_micros_per_day),
        at=at,
        calendar=True,
    )


def close_disk(instance_id: UUID, *, at: datetime | None = None) -> None:
    close_clocked_meter(DISK_SOURCE, instance_id, at=at)


def close_clocked_meter(source_kind: str, instance_id: UUID, *, at: datetime | None = None) -> None:
    """Close a meter that runs by the clock at `at` (default: now).

    Where its host's last report is too long ago, it is closed at that report.
    """
    host_id = Instance.objects.values_list("host_id", flat=True).get(pk=instance_id)
    until = paid_until(host_id=host_id, at=at or clock.now())
    close_meter(source_kind=source_kind, source_id=instance_id, at=until)


def disk_tariff(micros_per_day: int) -> Tariff:
    return Tariff(micros_per_day, hours=24)


# GPUs that a stopped instance keeps.


def hold_for_kept_gpus(instance: Instance) -> None:
    _hold(instance, HOLD_SOURCE, Tariff(instance.hold_micros_per_hour))


def open_kept_gpus(instance: Instance, *, at: datetime, payee_id: UUID) -> None:
    open_meter(
        source_kind=HOLD_SOURCE,
        source_id=instance.pk,
        payer_id=instance.renter_id,
        payee_id=payee_id,
        label=label_of(instance, "kept while stopped"),
        tariff=Tariff(instance.hold_micros_per_hour),
        at=at,
        calendar=True,
    )


def close_kept_gpus(instance_id: UUID, *, at: datetime | None = None) -> None:
    close_clocked_meter(HOLD_SOURCE, instance_id, at=at)


def _hold(instance: Instance, source_kind: str, tariff: Tariff) -> None:
    hold_funds(
        owner_id=instance.renter_id,
        amount_micros=hold_of(tariff),
        source_kind=source_kind,
        source_id=instance.pk,
        scope=scope_of(instance),
        first=instance._state.adding,
    )
