"""GPUs that a stopped instance keeps for a fee, until a start, a release or an empty wallet."""

from datetime import datetime
from typing import Final
from uuid import UUID

from billing.budgets.selectors import over_budget
from billing.constants import HOLD_SOURCE
from billing.metering.costs import exhausted_sources
from billing.pricing.estimates import HOURLY, TIERED
from common.db.transactions import use_case
from common.errors import IllegalTransition, StaleRow
from common.money import divide_half_up
from instances.constants import RETENTION
from instances.core.capacity_hints import hint_waiting
from instances.core.selectors import active_term, any_instance
from instances.core.silent_hosts import without_hosts
from instances.core.transitions import SYSTEM, record_event, touch_host, touch_renter
from instances.metering.meters import close_kept_gpus, hold_for_kept_gpus
from instances.metering.reserved_terms import update_locked_columns
from instances.models import Instance
from instances.spot.bids import hint_freed_gpus
from instances.states import InstanceState
from marketplace.leasing.lease import release_leases

_BPS: Final = 10_000


def hold_fee(instance: Instance) -> int:
    """Return the fee per hour: the offer's present share of the price while running."""
    return divide_half_up(instance.rate_micros_per_hour * instance.offer.hold_bps, _BPS)


def hold_for_reservation(instance: Instance) -> int:
    """Hold the first hour's fee and return the fee, which is fixed from now on.

    Raises IllegalTransition or InsufficientFunds.
    """
    if instance.runs_without_gpus:
        raise IllegalTransition("It runs without GPUs, so there are none to keep.", actions=instance.actions)
    if instance.billing_mode not in (HOURLY, TIERED):
        raise IllegalTransition(
            "GPUs can only be kept for a fee with on-demand or tiered billing.", actions=instance.actions
        )
    instance.hold_micros_per_hour = hold_fee(instance)
    hold_for_kept_gpus(instance)
    return instance.hold_micros_per_hour


def release_gpus(instance: Instance, *, at: datetime, reason: str) -> None:
    """Free the GPUs of a stopped instance and start its retention; settle money before."""
    if release_leases(holder=instance.pk, reason=reason):
        hint_waiting()
        hint_freed_gpus(instance.offer_id)
    update_locked_columns(instance, holds_gpus=False, release_at=at + RETENTION)
    record_event(instance, kind="gpus_released", actor=SYSTEM)
    touch_host(instance)
    touch_renter(instance)


def release_unpaid_gpus(*, now: datetime, spared: frozenset[UUID] = frozenset()) -> int:
    """Free kept GPUs that nobody pays for or no budget allows; return how many instances.

    Instances on the `spared` hosts are left out.
    """
    unpaid = {*exhausted_sources(source_kind=HOLD_SOURCE, now=now), *over_budget(source_kind=HOLD_SOURCE, now=now)}
    return sum(_try(instance_id, now) for instance_id in without_hosts(sorted(unpaid), spared))


def _try(instance_id: UUID, now: datetime) -> bool:
    try:
        with use_case():
            close_kept_gpus(instance_id, at=now)
            instance = any_instance(instance_id)
            if instance.state != InstanceState.STOPPED or not instance.holds_gpus or active_term(instance_id):
                return False
            record_event(instance, kind="keeping_unpaid", actor=SYSTEM)
            release_gpus(instance, at=now, reason="not paid for")
    except StaleRow:
        return False
    return True
