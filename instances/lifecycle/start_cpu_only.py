"""Starting without a GPU: half a core and 2 GB at a fixed price, to copy, build or tidy up."""

from collections.abc import Sequence
from uuid import UUID

from accounts.models import User
from billing.constants import CPU
from billing.metering.escrow import lock_parties
from billing.pricing.estimates import SPOT
from common.db.transactions import use_case
from common.money import format_money
from instances.constants import CPU_RUN_MICROS_PER_HOUR, CPU_RUN_RAM_MB
from instances.core.selectors import instance_of, runs_without_gpus_on
from instances.core.transitions import RENTER, RESET_FOR_NEW_RUN, change_state, check_action, touch_to_run
from instances.errors import NoCpuRoom
from instances.metering.meters import hold_for_cpu_run, hold_for_disk
from instances.metering.order_log import record_start
from instances.metering.reserved_terms import payee_of
from instances.models import Instance
from instances.retention.data_retention import close_paid_retention
from instances.spot.bids import bid_of, end_bid
from instances.states import BidState, Desired, InstanceState
from instances.volumes.attach import check_not_restoring, replace_attachments
from marketplace.errors import PriceChanged
from marketplace.leasing.lease import lock_host_for_cpu
from marketplace.pricing.cpu_ram_share import runs_without_gpus


def start_without_gpu(
    *,
    renter: User,
    instance_id: UUID,
    max_rate_micros: int | None = None,
    volume_ids: Sequence[UUID] | None = None,
) -> Instance:
    """Start a stopped instance without its GPUs, on its own files; nothing is leased.

    With `volume_ids` it gets these volumes and no others; None keeps the attached ones. Raises IllegalTransition,
    InsufficientFunds, OfferClosed, NoCpuRoom, or PriceChanged when it costs more than `max_rate_micros`.
    """
    with use_case():
        instance = instance_of(renter, instance_id)
        check_action(instance, "start_cpu")
        lock_parties(renter_id=renter.pk, host_owner_id=payee_of(instance))
        instance = instance_of(renter, instance_id)
        check_action(instance, "start_cpu")
        check_not_restoring(instance)
        _set_money_aside(instance, max_rate_micros)
        _check_cpu_room(instance)
        _leave_spot(instance)
        if volume_ids is not None:
            replace_attachments(instance, volume_ids=volume_ids)
        change_state(
            instance,
            InstanceState.STARTING,
            kind="cpu_start_asked",
            actor=RENTER,
            desired=Desired.RUNNING,
            run_generation=instance.run_generation + 1,
            **{**RESET_FOR_NEW_RUN, "cpu_only": True, "cpu_micros_per_hour": instance.cpu_micros_per_hour},
        )
        touch_to_run(instance)
        record_start(instance, what="without a GPU", billing_mode=CPU, rate_micros_per_hour=instance.cpu_micros_per_hour)
    return instance


def _set_money_aside(instance: Instance, max_rate_micros: int | None) -> None:
    rate = CPU_RUN_MICROS_PER_HOUR
    if max_rate_micros is not None and rate > max_rate_micros:
        raise PriceChanged(f"Without GPUs, it costs {format_money(rate)} per hour.", hourly_rate=format_money(rate))
    hold_for_disk(instance)
    close_paid_retention(instance)
    instance.cpu_micros_per_hour = rate
    hold_for_cpu_run(instance)


def _check_cpu_room(instance: Instance) -> None:
    """Refuse a run without a GPU when the host has no room for it.

    The runs are counted under the host's lock, so that two starts cannot both take the last place.
    """
    host = lock_host_for_cpu(instance.offer_id)
    most = runs_without_gpus(ram_mb=host.ram_mb, each_mb=CPU_RUN_RAM_MB)
    if runs_without_gpus_on(host.pk) >= most:
        raise NoCpuRoom(f"The host runs {most} instances without GPU at a time, and all places are taken.")


def _leave_spot(instance: Instance) -> None:
    """End the bid of a spot rent that has yielded, since it would otherwise start by itself meanwhile.

    The bid is placed again with the next start on GPUs.
    """
    bid = bid_of(instance.pk) if instance.billing_mode == SPOT else None
    if bid is not None and bid.state != BidState.ENDED:
        end_bid(bid)
