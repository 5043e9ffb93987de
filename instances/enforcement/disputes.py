"""Stopping of instances that run on money which a bank took back (fault 77 in docs/faults.md).

The money counts in whichever wallet it is by now.
"""

import logging
from collections.abc import Callable
from datetime import datetime
from functools import partial
from uuid import UUID

from billing.constants import INSTANCE_SOURCE
from billing.debts.services import unfrozen_money
from billing.ledger.trace_selectors import owed_money
from billing.metering.settle import lock_source
from billing.payments.selectors import wallets_in_dispute
from billing.pricing.estimates import RESERVED, SPOT
from common.db.transactions import use_case
from common.errors import DomainError
from common.messages.message import Message
from instances.billing_mode.term_expiry import end_reservation, end_terms_early
from instances.core.money_messages import Disputed, TakenBack
from instances.core.selectors import instances_of_terms
from instances.core.transitions import SYSTEM, record_event
from instances.lifecycle.stop import halt_instance
from instances.metering.reserved_terms import locked_with_wallets
from instances.models import Instance
from instances.states import InstanceState
from marketplace.reliability.silence_selectors import silent_hosts_in_mass_silence

logger = logging.getLogger(__name__)

_STOPS = (InstanceState.STOPPING, InstanceState.STOPPED, InstanceState.FAILED, InstanceState.RELEASING, InstanceState.GONE)
_KIND = "payment_disputed"


def stop_disputed(*, now: datetime) -> int:
    """Stop what runs on money that was taken back, and return how many instances.

    These are the spot rents of users with an open dispute, everything that is paid by use from a wallet with disputed
    money, and terms that were prepaid with it: such a term ends early, and its unused rest is frozen.
    """
    reporting = Instance.objects.exclude(host_id__in=silent_hosts_in_mass_silence(now)).order_by("pk")
    running = reporting.exclude(state__in=_STOPS)
    spot = running.filter(renter_id__in=wallets_in_dispute(), billing_mode=SPOT)
    paid_by_use = running.filter(renter_id__in=unfrozen_money()).exclude(billing_mode=RESERVED)
    prepaid = reporting.filter(pk__in=instances_of_terms(list(owed_money().lying_in("term"))))
    stopped = sum(_stop(*row, _has_open_dispute, Disputed()) for row in list(spot.values_list("pk", "renter_id")))
    stopped += sum(_stop(*row, _runs_on_it, TakenBack()) for row in list(paid_by_use.values_list("pk", "renter_id")))
    return stopped + sum(_end_prepaid(instance_id, now) for instance_id in list(prepaid.values_list("pk", flat=True)))


def _stop(instance_id: UUID, owner_id: UUID, is_so: Callable[[UUID], bool], detail: Message) -> bool:
    still = partial(_still_applies, instance_id, owner_id, is_so)
    return halt_instance(instance_id=instance_id, kind=_KIND, detail=detail, only_if=still)


def _still_applies(instance_id: UUID, owner_id: UUID, is_so: Callable[[UUID], bool]) -> bool:
    lock_source(source_kind=INSTANCE_SOURCE, source_id=instance_id)
    return is_so(owner_id)


def _has_open_dispute(owner_id: UUID) -> bool:
    return owner_id in wallets_in_dispute()


def _runs_on_it(owner_id: UUID) -> bool:
    return owner_id in unfrozen_money()


def _end_prepaid(instance_id: UUID, now: datetime) -> bool:
    """End the terms of one instance early; an error does not stop the pass for the others."""
    try:
        with use_case():
            instance = locked_with_wallets(instance_id)
            if not end_terms_early(instance, actor=SYSTEM):
                return False
            record_event(instance, kind=_KIND, actor=SYSTEM, detail=TakenBack())
            end_reservation(instance, at=now)
    except DomainError:
        logger.exception("term of instance %s", instance_id)
        return False
    return True
