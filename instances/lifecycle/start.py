"""Starting again on kept GPUs or on GPUs of the same host that are leased anew, and restarting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn
from uuid import UUID

from accounts.models import User
from billing.metering.escrow import lock_parties
from billing.pricing.estimates import RESERVED, SPOT, TIERED
from common import clock
from common.db.transactions import use_case
from common.money import format_money
from instances.core.selectors import active_term, instance_of, next_term
from instances.core.transitions import (
    RENTER,
    RESET_FOR_NEW_RUN,
    change_state,
    check_action,
    retry_stale,
    touch_host,
    touch_to_run,
)
from instances.lifecycle.launch_columns import launch_fields
from instances.metering.meters import close_kept_gpus, hold_for_disk, hold_for_use
from instances.metering.order_log import record_start_on_gpus
from instances.metering.reserved_terms import hold_for_term, payee_of, resume_term
from instances.models import Instance
from instances.retention.data_retention import close_paid_retention, free_time_left
from instances.spot.spot_orders import start_or_wait
from instances.states import Desired, InstanceState
from instances.volumes.attach import check_not_restoring, replace_attachments
from instances.volumes.transfers import check_can_wait, volumes_to_move
from marketplace.errors import GpuTaken, PriceChanged
from marketplace.leasing.lease import LeasedGpus
from marketplace.pricing.prices import discounted

if TYPE_CHECKING:
    from storage.models import Volume


@dataclass(frozen=True)
class Mounts:
    """Volumes to start with (None: the attached ones), and those of them that come from other hosts."""

    volume_ids: Sequence[UUID] | None
    coming: "Sequence[Volume]"

    @classmethod
    def of(cls, instance: Instance, volume_ids: Sequence[UUID] | None) -> "Mounts":
        coming = volumes_to_move(renter_id=instance.renter_id, host_id=instance.host_id, volume_ids=volume_ids)
        return cls(volume_ids, coming)


def start_instance(
    *,
    renter: User,
    instance_id: UUID,
    max_rate_micros: int | None = None,
    wait: bool = False,
    volume_ids: Sequence[UUID] | None = None,
) -> Instance:
    """Start a stopped instance.

    On kept GPUs the agreed price holds, else the offer's present one; a higher one than before is accepted up to
    `max_rate_micros`. With `wait`, an instance whose GPUs are taken queues for them, before the public, with an
    hour's money held. With `volume_ids` it gets these volumes and no others, after those on other hosts of the region
    were moved; None keeps the attached ones. Raises GpuTaken, PriceChanged, OfferClosed, InsufficientFunds or
    IllegalTransition.
    """
    with use_case():
        instance = instance_of(renter, instance_id)
        check_action(instance, "start")
        lock_parties(renter_id=renter.pk, host_owner_id=payee_of(instance))
        instance = instance_of(renter, instance_id)
        check_action(instance, "start")
        check_not_restoring(instance)
        hold_for_disk(instance)
        close_paid_retention(instance)
        mounts = Mounts.of(instance, volume_ids)
        if instance.holds_gpus:
            _on_kept_gpus(instance, mounts)
        else:
            _on_leased_gpus(instance, max_rate_micros, wait, mounts)
        record_start_on_gpus(instance, gpu_model=instance.offer.gpu_model)
    return instance


def _on_kept_gpus(instance: Instance, mounts: "Mounts") -> None:
    """Start on GPUs that are still leased, at the agreed price; inside a term no money moves."""
    now = clock.now()
    check_can_wait(instance, mounts.coming, leased=False)
    term = active_term(instance.pk)
    if term is not None:
        resume_term(term, instance, at=now, payee_id=payee_of(instance))
    else:
        close_kept_gpus(instance.pk, at=now)
        hold_for_use(instance)
    _move(instance, InstanceState.STARTING, mounts, holds_gpus=False)


def _on_leased_gpus(instance: Instance, max_rate_micros: int | None, wait: bool, mounts: "Mounts") -> None:
    """Hold the money, then lease GPUs or queue for them.

    An instance that queues, or whose volumes are still to come, is not charged meanwhile.
    """
    prices = _hold(instance, max_rate_micros)
    leased = _lease_again(instance, wait)
    check_can_wait(instance, mounts.coming, leased=leased is not None)
    if leased is None:
        _move(instance, InstanceState.WAITING, mounts, retention_left=free_time_left(instance), **prices)
        return
    gpus = {"gpu_uuids": list(leased.gpu_uuids), "cpu_millis": leased.cpu_millis, "ram_mb": leased.ram_mb}
    if mounts.coming:
        gpus["retention_left"] = free_time_left(instance)
    target = InstanceState.COPYING if mounts.coming else InstanceState.STARTING
    _move(instance, target, mounts, fence=instance.fence + 1, **gpus, **prices)


def _hold(instance: Instance, max_rate_micros: int | None) -> dict[str, Any]:
    """Hold the money and return the offer's present prices.

    A term that has not begun, and a bid, keep their agreed prices.
    """
    coming = next_term(instance.pk) if instance.billing_mode == RESERVED else None
    if coming is not None:
        hold_for_term(coming, instance)
        return {}
    prices = {} if instance.billing_mode == SPOT else _present_terms(instance, max_rate_micros)
    for name, value in prices.items():
        setattr(instance, name, value)
    hold_for_use(instance)
    return prices


def _move(instance: Instance, target: InstanceState, mounts: "Mounts", **fields: Any) -> None:
    """Change the state, with a new run generation if it is to start now.

    While it waits for GPUs or volumes, the generation is raised later, with them.
    """
    if mounts.volume_ids is not None:
        replace_attachments(instance, volume_ids=mounts.volume_ids, coming=mounts.coming)
    generation = instance.run_generation + (target == InstanceState.STARTING)
    change_state(
        instance,
        target,
        kind="start_asked",
        actor=RENTER,
        desired=Desired.RUNNING,
        run_generation=generation,
        **{**RESET_FOR_NEW_RUN, **fields},
    )
    if target == InstanceState.STARTING:
        touch_to_run(instance)


def _present_terms(instance: Instance, max_rate_micros: int | None) -> dict[str, Any]:
    offer, count = instance.offer, instance.gpu_count
    rate = offer.price_micros * count
    steps = [[hours, discounted(offer.price_micros, off_bps) * count] for hours, off_bps in offer.tiers]
    steps = steps if instance.billing_mode == TIERED else []
    dearer = rate > max(instance.rate_micros_per_hour, max_rate_micros or 0)
    if dearer or (steps != instance.tiers and max_rate_micros is None):
        raise PriceChanged(
            f"The price is now {format_money(rate)} an hour, before it was {format_money(instance.rate_micros_per_hour)}."
            " Start with max_hourly_rate set to accept it.",
            hourly_rate=format_money(rate),
            tiers=[{"from_hours": hours, "hourly_rate": format_money(step)} for hours, step in steps],
        )
    return {"rate_micros_per_hour": rate, "tiers": steps}


def _lease_again(instance: Instance, wait: bool) -> LeasedGpus | None:
    """Lease the former GPUs where they are free, so that the container's root need not be copied."""
    try:
        return start_or_wait(instance=instance, queue=wait)
    except GpuTaken as error:
        _raise_gpu_taken(instance, error)


def _raise_gpu_taken(instance: Instance, error: GpuTaken) -> NoReturn:
    until = f" until {instance.release_at:%Y-%m-%d %H:%M} UTC" if instance.release_at else ""
    raise GpuTaken(
        f"The GPUs of this instance's host are in use by others. Its data is kept{until}: start it with wait=true to queue"
        " for them, or try again later.",
        release_at=instance.release_at,
    ) from error


def restart_instance(*, renter: User, instance_id: UUID, launch: Mapping[str, Any] | None = None) -> Instance:
    """Restart a running instance; a higher run generation makes the agent start the container again.

    `launch` are changes of the launch settings; with other ones, the container is made again of its root file system.
    Raises IllegalTransition, LaunchUnsupported or InvalidInput.
    """

    def attempt() -> Instance:
        instance = instance_of(renter, instance_id)
        check_action(instance, "restart")
        run_generation = instance.run_generation + 1
        change_state(
            instance,
            InstanceState.RESTARTING,
            kind="restart_asked",
            actor=RENTER,
            run_generation=run_generation,
            **launch_fields(instance, launch),
        )
        touch_host(instance)
        return instance

    with use_case():
        return retry_stale(attempt)
