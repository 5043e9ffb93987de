"""Start again: one hour's money held, GPUs of the same host leased anew, a new fence and generation for the agent."""

from typing import NoReturn
from uuid import UUID

from accounts.models import User
from billing.policy import INSTANCE_SOURCE
from billing.pricing import hold_for
from billing.services.holds import hold_funds
from common.database import use_case
from common.money import format_money
from instances.models import Instance
from instances.selectors import instance_of
from instances.services.moves import RENTER, check_action, move_instance, touch_host
from instances.states import Desired, InstanceState
from marketplace.errors import GpuTaken, PriceChanged
from marketplace.services.lease import LeasedGpus, lease_gpus


def start_instance(*, renter: User, instance_id: UUID, max_rate_micros: int | None = None) -> Instance:
    """Start a stopped instance at the offer's present price; a higher one than before only up to `max_rate_micros`.

    Raises GpuTaken, PriceChanged, OfferClosed, InsufficientFunds or UnlawfulMove.
    """
    with use_case():
        instance = instance_of(renter, instance_id)
        check_action(instance, "start")
        rate = _present_rate(instance, max_rate_micros)
        hold_funds(owner_id=renter.pk, amount_micros=hold_for(rate), source_kind=INSTANCE_SOURCE, source_id=instance.pk)
        leased = _lease_again(instance)
        move_instance(
            instance,
            InstanceState.STARTING,
            kind="start_asked",
            actor=RENTER,
            desired=Desired.RUNNING,
            run_generation=instance.run_generation + 1,
            fence=instance.fence + 1,
            rate_micros_per_hour=rate,
            gpu_uuids=list(leased.gpu_uuids),
            cpu_millis=leased.cpu_millis,
            ram_mb=leased.ram_mb,
            stopped_at=None,
            stop_requested_at=None,
            release_at=None,
            failure_code="",
            failure_detail="",
            fault_of="",
            progress="",
        )
        touch_host(instance)
    return instance


def _present_rate(instance: Instance, max_rate_micros: int | None) -> int:
    rate = instance.offer.price_micros * instance.gpu_count
    if rate > max(instance.rate_micros_per_hour, max_rate_micros or 0):
        raise PriceChanged(
            f"The price is now {format_money(rate)} an hour, before it was {format_money(instance.rate_micros_per_hour)}."
            " Start with max_hourly_rate set to accept it.",
            hourly_rate=format_money(rate),
        )
    return rate


def _lease_again(instance: Instance) -> LeasedGpus:
    """The GPUs it had, where they are free: then its container needs no copy of its root."""
    try:
        return lease_gpus(
            offer_id=instance.offer_id,
            count=instance.gpu_count,
            holder=instance.pk,
            expected_version=instance.offer.version,
            prefer=instance.gpu_uuids,
        )
    except GpuTaken as error:
        _tell_to_wait(instance, error)


def _tell_to_wait(instance: Instance, error: GpuTaken) -> NoReturn:
    until = f" until {instance.release_at:%Y-%m-%d %H:%M} UTC" if instance.release_at else ""
    raise GpuTaken(
        f"The GPUs of this instance's host are in use by others. Its data is kept{until}: try again later.",
        release_at=instance.release_at,
    ) from error
