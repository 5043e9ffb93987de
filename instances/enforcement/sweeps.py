"""Periodic passes over instances.

Each finds its own work in the tables, so a lost hint costs time and nothing else.
"""

from collections.abc import Collection
from datetime import datetime
from functools import partial
from uuid import UUID

from billing.audit.services import NIGHTLY, was_audited_today
from billing.audit.services import audit_ledger as run_audit
from billing.constants import INSTANCE_SOURCE, WATCH_SOURCE
from billing.metering.costs import exhausted_sources, open_holds
from billing.metering.holds import is_unpaid
from common.db.transactions import exclusive_lock, use_case
from common.ids import public_id
from common.messages.message import Message, Micros, Parts
from instances.billing_mode.term_expiry import end_due_terms, end_unpaid_terms
from instances.constants import SWEEP_BATCH
from instances.core.event_messages import Overdue
from instances.core.incident_messages import (
    HeldWithoutWaiting,
    LeaseDifference,
    LedgerFinding,
    NoGpus,
    OverdueSince,
    WaitsWithoutHold,
    names_of,
)
from instances.core.money_messages import Unpaid
from instances.core.selectors import data_due, expected_holdings, overdue_instances
from instances.core.silent_hosts import without_silent
from instances.core.transitions import SYSTEM, record_event, touch_renter
from instances.enforcement.silent_hosts import pause_on_silent_hosts
from instances.lifecycle.stop import halt_instance
from instances.models import Instance
from instances.release.services import expire_instance
from instances.retention.gpu_reservation import release_unpaid_gpus
from instances.states import InstanceState
from instances.transfers.selectors import holdings_of_migrations
from instances.wait_list.selectors import watch_holds_expected
from marketplace.hosts.incidents import open_incident
from marketplace.leasing.selectors import live_leases
from marketplace.reliability.silence_selectors import silent_hosts_in_mass_silence

OVERDUE = "instance_overdue"
LEASE_DIFFERENCE = "lease_difference"
LEDGER_FINDING = "ledger_finding"
WATCH_HOLD_DIFFERENCE = "watch_hold_difference"
_AUDIT_LOCK = 6_318_442_907


def enforce_deadlines(*, now: datetime) -> int:
    """Open an incident for every transitional state that takes too long; return how many.

    Nothing is released by time (D2). While many hosts are silent together the fault is probably ours (D6), and their
    instances are left out.
    """
    held_back = silent_hosts_in_mass_silence(now)
    return sum(_report_overdue(instance) for instance in overdue_instances(now).exclude(host_id__in=held_back)[:SWEEP_BATCH])


def stop_exhausted(*, now: datetime) -> int:
    """Stop running instances whose hold is used up and whose wallet is empty; return how many.

    Their data is kept. Those on silent hosts use up nothing and are left out.
    """
    unpaid = exhausted_sources(source_kind=INSTANCE_SOURCE, now=now)
    ids = without_silent(unpaid, now, spared=silent_hosts_in_mass_silence(now))
    return sum(_halt_unpaid(instance_id, now) for instance_id in ids)


def end_terms(*, now: datetime) -> int:
    """End terms that are over or unpaid, and release kept GPUs that nobody pays for; return how many.

    Hosts that may only seem silent because our own network is down are left out (D6). What is kept on silent hosts is
    paused first: after an outage of that sweep it would else be taken for unpaid.
    """
    pause_on_silent_hosts(now=now)
    spared = silent_hosts_in_mass_silence(now)
    return sum(follow(now=now, spared=spared) for follow in (end_due_terms, end_unpaid_terms, release_unpaid_gpus))


def purge_expired(*, now: datetime) -> int:
    """Release instances whose retention is over, and return how many."""
    return sum(expire_instance(instance_id=instance_id) for instance_id in data_due(now))


def compare_leases() -> int:
    """Compare leases with instances' rows, and open an incident for each difference; return how many.

    This is the fourth of the safeguards against overselling (docs/locks.md).
    """
    differences = _lease_differences()
    if differences:  # a rent or release may have committed between the two reads; a real difference is found again
        again = _lease_differences()
        differences = {holder: detail for holder, detail in again.items() if differences.get(holder) == detail}
    for holder, detail in differences.items():
        open_incident(kind=LEASE_DIFFERENCE, subject=public_id("inst", holder), detail=detail)
    return len(differences)


def audit_daily(*, now: datetime) -> int:
    """Audit the ledger if that was not done within the last day, in one process at a time.

    This is a sweep.
    """
    with exclusive_lock(_AUDIT_LOCK) as ours:
        return audit_ledger() if ours and not was_audited_today(now=now) else 0


def audit_ledger() -> int:
    """Audit the ledger, store the findings, open an incident for each and return their number.

    It is done here, since billing may not call the market.
    """
    _, findings = run_audit(asked_by=NIGHTLY, mailed=True)
    for finding in findings:
        detail = LedgerFinding(check=finding.code, subject=finding.subject, detail=finding.detail, rule=finding.rule)
        open_incident(kind=LEDGER_FINDING, subject=f"{finding.code} {finding.subject}"[:120], detail=detail)
    return len(findings)


def compare_watch_holds() -> int:
    """Compare money held for the wait list with its entries; open an incident for each difference.

    Returns their number. `verify_ledger` cannot find these: billing knows only that something holds money, not
    whether an entry waits.
    """
    differences = _watch_hold_differences()
    if differences:  # an entry may have begun or ended between the two reads; a real difference is found again
        again = _watch_hold_differences()
        differences = {watch: detail for watch, detail in again.items() if watch in differences}
    for watch, detail in differences.items():
        open_incident(kind=WATCH_HOLD_DIFFERENCE, subject=public_id("watch", watch), detail=detail)
    return len(differences)


def _halt_unpaid(instance_id: UUID, now: datetime) -> bool:
    """Stop an instance unless a top-up has arrived since it was found unpaid (fault 64 in docs/faults.md)."""
    unpaid = partial(is_unpaid, source_kind=INSTANCE_SOURCE, source_id=instance_id, now=now)
    return halt_instance(instance_id=instance_id, kind="funds_exhausted", detail=Unpaid(), only_if=unpaid)


def _report_overdue(instance: Instance) -> bool:
    """Report an overdue state once for each change of state.

    The deadline is cleared in the same transaction that reports it.
    """
    with use_case():
        same = Instance.objects.filter(pk=instance.pk, generation=instance.generation, deadline=instance.deadline)
        if not same.update(deadline=None):
            return False
        record_event(instance, kind="overdue", actor=SYSTEM, detail=Overdue(state=InstanceState(instance.state)))
        if instance.deadline is not None:
            detail = OverdueSince(state=InstanceState(instance.state), at=instance.deadline)
            open_incident(kind=OVERDUE, subject=public_id("inst", instance.pk), detail=detail)
        touch_renter(instance)
    return True


def _watch_hold_differences() -> dict[UUID, Message]:
    held, expected = open_holds(source_kind=WATCH_SOURCE), watch_holds_expected()
    orphans: dict[UUID, Message] = {
        watch: HeldWithoutWaiting(amount=Micros(held[watch])) for watch in held.keys() - expected
    }
    return orphans | dict.fromkeys(expected - held.keys(), WaitsWithoutHold())


def _lease_differences() -> dict[UUID, Message]:
    expected = {holding.instance_id: set(holding.gpu_uuids) for holding in [*expected_holdings(), *holdings_of_migrations()]}
    held: dict[UUID, set[str]] = {}
    for lease in live_leases():
        held.setdefault(lease.holder, set()).add(lease.gpu_uuid)
    return {
        holder: LeaseDifference(leased=_gpus(held.get(holder, ())), expected=_gpus(expected.get(holder, ())))
        for holder in sorted(expected.keys() | held.keys())
        if expected.get(holder, set()) != held.get(holder, set())
    }


def _gpus(uuids: Collection[str]) -> Message:
    return Parts(parts=names_of(uuids)) if uuids else NoGpus()
