"""What a host owes for its faults: an entry in its public ledger, and to the renter what the broken run had cost last."""

from datetime import datetime
from typing import Final
from uuid import UUID, uuid5

from django.conf import settings

from billing.constants import INSTANCE_SOURCE, TERM_SOURCE
from billing.metering.host_fault_credits import credit_source
from billing.pricing.estimates import RESERVED
from common.money import format_money
from instances.core.selectors import active_term
from instances.core.transitions import SYSTEM, record_event
from instances.models import Instance
from instances.states import InstanceState
from marketplace.reliability.events import record_failed_start, record_host_fault, record_start

_RUNNING: Final = (InstanceState.RUNNING, InstanceState.RESTARTING)


def note_start(instance: Instance, *, owner_id: UUID, at: datetime) -> None:
    """An instance comes to run: a good start of its host, but for one that goes on after a restart or is the owner's own."""
    if instance.state not in _RUNNING and instance.renter_id != owner_id:
        record_start(host_id=instance.host_id, subject=_run_of(instance), at=at)


def note_host_fault(instance: Instance, *, owner_id: UUID, code: str, at: datetime) -> int:
    """An instance fails through its host's fault. Called before its move and after its meter is closed.

    One that ran gets back what the end of the run cost (the micro-units are returned). One that did not has cost nothing;
    what ran until its renter asked for a restart stays paid, whatever became of that. An owner's own instance says nothing
    about the host to others.
    """
    ran = instance.state in _RUNNING and instance.started_at is not None
    given_back = _give_back(instance, code, at) if ran and instance.state == InstanceState.RUNNING else 0
    if instance.renter_id != owner_id:
        record = record_host_fault if ran else record_failed_start
        record(host_id=instance.host_id, subject=_run_of(instance), at=at, detail=code)
    return given_back


def note_cut_off_run(instance: Instance, *, owner_id: UUID, at: datetime, detail: str) -> None:
    """The host keeps connections out of a running instance: one entry for the run, as if it had ended by that."""
    if instance.renter_id != owner_id:
        record_host_fault(host_id=instance.host_id, subject=_run_of(instance), at=at, detail=detail)


def tell_given_back(instance: Instance, micros: int) -> None:
    """In the instance's events, after the failure that it answers."""
    if micros:
        record_event(instance, kind="given_back", actor=SYSTEM, detail=f"{format_money(micros)} {settings.MARKET_CURRENCY}")


def _give_back(instance: Instance, code: str, at: datetime) -> int:
    """Of a prepaid term it goes back into escrow, and to the renter when the term ends."""
    term = active_term(instance.pk) if instance.billing_mode == RESERVED else None
    return credit_source(
        source_kind=INSTANCE_SOURCE if term is None else TERM_SOURCE,
        source_id=instance.pk if term is None else term.pk,
        key=f"{INSTANCE_SOURCE}:{instance.pk.hex}:{instance.run_generation}",
        since=instance.started_at or at,
        until=at,
        reason=f"given back, the host failed ({code})",
        actor=SYSTEM,
    )


def _run_of(instance: Instance) -> UUID:
    """One uninterrupted wish to run, named so that nobody can tell the instance or its renter by it."""
    return uuid5(instance.pk, str(instance.run_generation))
