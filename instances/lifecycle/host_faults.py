"""Whose fault a failure is, and consequences of a host's: an entry in its record, and a refund."""

from datetime import datetime
from typing import Final
from uuid import UUID, uuid5

from billing.constants import INSTANCE_SOURCE, TERM_SOURCE
from billing.metering.host_fault_credits import credit_run
from common.messages.message import Micros
from instances.constants import FAULT_OF, UNTOUCHED_ONLY
from instances.core.money_messages import Refunded
from instances.core.selectors import all_terms_of
from instances.core.transitions import SYSTEM, record_event
from instances.metering.reserved_terms import is_prepaid
from instances.models import Instance
from instances.states import FaultOf, InstanceState, TermState
from marketplace.reliability.events import record_failed_start, record_host_fault, record_start
from storage.states import ImageSource

_RUNNING: Final = (InstanceState.RUNNING, InstanceState.RESTARTING)
_OVER: Final = (TermState.ENDED, TermState.EXITED)


def record_successful_start(instance: Instance, *, owner_id: UUID, at: datetime) -> None:
    """Record a successful start for the host's reliability.

    A restart, or an owner's own instance, does not count.
    """
    if instance.state not in _RUNNING and instance.renter_id != owner_id:
        record_start(host_id=instance.host_id, subject=_run_of(instance), at=at)


def record_fault(instance: Instance, *, owner_id: UUID, code: str, at: datetime) -> int:
    """Record a failure by the host's fault and return the refund in micro-units.

    Call it before the state changes and after the meter is closed. For an instance that ran, the end of the run is
    refunded; one that did not run has cost nothing. What ran until the renter asked for a restart stays paid. An
    owner's own instance counts nothing for the host's reliability.
    """
    ran = instance.state in _RUNNING and instance.started_at is not None
    given_back = 0
    if ran and instance.state == InstanceState.RUNNING:
        began = instance.started_at or at
        given_back = refund_run(instance, run=instance.run_generation, since=began, until=at, code=code)
    if instance.renter_id != owner_id:
        record = record_host_fault if ran else record_failed_start
        record(host_id=instance.host_id, subject=_run_of(instance), at=at, detail=code)
    return given_back


def record_cut_off_run(instance: Instance, *, owner_id: UUID, at: datetime, detail: str) -> None:
    """Record one fault for a run that the host cuts off, as if it had ended by that."""
    if instance.renter_id != owner_id:
        record_host_fault(host_id=instance.host_id, subject=_run_of(instance), at=at, detail=detail)


def record_refund(instance: Instance, micros: int) -> None:
    """Record the refund as an event, after the failure that it answers."""
    if micros:
        record_event(instance, kind="given_back", actor=SYSTEM, detail=Refunded(amount=Micros(micros)))


def refund_run(instance: Instance, *, run: int, since: datetime, until: datetime, code: str) -> int:
    """Refund the end of a run from every source that charged it, as `credit_run`; return the micro-units.

    The refund of a prepaid term goes into escrow, and to the renter when the term ends; after its end, to the renter at
    once.
    """
    terms = all_terms_of([instance.pk])
    return credit_run(
        sources=[(INSTANCE_SOURCE, instance.pk), *((TERM_SOURCE, term.pk) for term in terms)],
        ended_terms={term.pk: instance.renter_id for term in terms if is_prepaid(term) and term.state in _OVER},
        key=f"{INSTANCE_SOURCE}:{instance.pk.hex}:{run}",
        since=since,
        until=until,
        reason=f"given back, the host failed ({code})",
        actor=SYSTEM,
    )


def _run_of(instance: Instance) -> UUID:
    """Return an id of this run that does not reveal the instance or its renter."""
    return uuid5(instance.pk, str(instance.run_generation))


def party_at_fault(instance: Instance, code: str) -> FaultOf:
    """Return who is at fault, by the host's code and what the renter could have done before.

    An unknown code proves nothing against anybody.
    """
    fault = FaultOf(FAULT_OF.get(code, FaultOf.NOBODY))
    if fault == FaultOf.HOST and code in UNTOUCHED_ONLY and not _is_untouched(instance):
        return FaultOf.NOBODY
    return fault


def _is_untouched(instance: Instance) -> bool:
    """Return whether nothing of the renter's runs: launch settings can break an official image's start, too."""
    official = instance.image.source == ImageSource.OFFICIAL
    return official and not instance.has_own_root and instance.launch_id is None
