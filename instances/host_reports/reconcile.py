"""Effects of a host's report: state changes, meters, leases, samples."""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from billing.pricing.estimates import RESERVED
from common.db.prepared import batched_writes
from common.db.transactions import use_case
from common.errors import DomainError, StaleRow
from common.ids import public_id
from common.messages.message import Message
from common.messages.rendering import columns
from instances.billing_mode.term_expiry import end_due_term
from instances.constants import RETENTION
from instances.core.capacity_hints import hint_waiting
from instances.core.host_ports import free_ports
from instances.core.incident_messages import ForeignContainers, OtherGpus, UnknownGeneration, names_of
from instances.core.observations import ObservedRow
from instances.core.selectors import ids_of_host, live_on_host, running_terms
from instances.core.transitions import HOST, NO_PROGRESS, change_state, record_event, touch_host, touch_renter
from instances.enforcement.leftovers import leftover_instance_ids
from instances.enforcement.use_proofs import ALIVE, prove_and_sample
from instances.lifecycle.cut_off import (
    is_newly_cut_off,
    is_reached_again,
    mark_cut_off,
    mark_reachable,
    no_longer_cut_off,
    use_is_unproven,
)
from instances.lifecycle.host_faults import party_at_fault, record_fault, record_refund, record_successful_start
from instances.lifecycle.meter_closing import (
    close_everything,
    close_use_of,
    keep_gpus,
    resume_term_of_failed,
    start_metering_use,
)
from instances.lifecycle.port_conflicts import replace_taken_port
from instances.lifecycle.reimage import accepted_root_fields, revert_root, should_revert_root
from instances.models import Instance
from instances.monitoring.alerts import raise_out_of_memory
from instances.monitoring.lost_data import close_lost_data, found_disk_fields, record_lost_data
from instances.spot.bids import hint_freed_gpus
from instances.states import Desired, FaultOf, InstanceState
from instances.transfers.completion import record_cleared
from instances.transfers.selectors import migrated_ids
from marketplace.hosts.incidents import open_incident
from marketplace.incident_messages import stuck
from marketplace.leasing.lease import release_leases

logger = logging.getLogger(__name__)

ABSENT: Final = "absent"
OUT_OF_MEMORY: Final = "out_of_memory"


def observe_report(
    *, host_id: UUID, rows: Sequence[ObservedRow], absent: Sequence[UUID], foreign: Sequence[str], at: datetime
) -> list[UUID]:
    """Apply one report and return the ids in it that are no instances of this host, for the audit.

    `at` is the server's time of receipt (D7). The caller passes reports of a host in order and once each; everything
    else is tolerated here. Each instance has a short transaction of its own, so that one cannot hold up the others.
    """
    live = live_on_host(host_id)
    seen = [(live[row.id], row) for row in rows if row.id in live]
    usable = [(instance, row) for instance, row in seen if not use_is_unproven(instance, row)]
    terms = _end_due_terms([instance for instance, _row in usable if instance.billing_mode == RESERVED], at)
    prove_and_sample(seen=seen, usable=usable, terms=terms, at=at)
    for instance, row in seen:
        _run_isolated(instance, _action_for(instance, row, at))
    for instance_id in absent:
        if instance_id in live:
            _run_isolated(live[instance_id], _absence_action(live[instance_id], at))
    record_cleared(host_id=host_id, absent=[instance_id for instance_id in absent if instance_id not in live], at=at)
    if foreign:
        detail = ForeignContainers(names=names_of(foreign))
        open_incident(kind="foreign_container", subject=public_id("host", host_id), detail=detail)
    unknown = {*(row.id for row in rows), *absent} - live.keys()
    return _unknown_ids(host_id, unknown)


def next_state(state: str, desired: str, phase: str) -> InstanceState | None:
    """Return the state that an observation of the present generation leads to, or None for no change."""
    match desired, state, phase:
        case Desired.RUNNING, InstanceState.REQUESTED, "pulling" | "creating" | "testing":
            return InstanceState.PROVISIONING
        case Desired.RUNNING, _, "running" if state in _COMING:
            return InstanceState.RUNNING
        case Desired.RUNNING, _, "failed" | "exited" if state in (*_COMING, InstanceState.RUNNING):
            return InstanceState.FAILED
        case Desired.STOPPED, InstanceState.STOPPING, "stopped":
            return InstanceState.STOPPED
        case Desired.GONE, InstanceState.RELEASING, "absent":
            return InstanceState.GONE
        case _:
            return None


_COMING: Final = (
    InstanceState.REQUESTED,
    InstanceState.PROVISIONING,
    InstanceState.STARTING,
    InstanceState.RESTARTING,
)

Action = Callable[[], None]


def _action_for(instance: Instance, row: ObservedRow, at: datetime) -> Action | None:
    """Return the action that a reported row requires, or None, the common case, which makes no query.

    An older generation is ignored (fault 18 in docs/faults.md).
    """
    if row.generation > instance.run_generation:
        return lambda: _report_inconsistency(instance, UnknownGeneration(generation=row.generation))
    if row.generation < instance.run_generation:
        return None
    target = next_state(instance.state, instance.desired, row.phase)
    if target is not None:
        return lambda: _MOVES[target](instance, row, at)
    if instance.state == InstanceState.FAILED and row.phase == "stopped" and not instance.is_proven_stopped:
        return lambda: _release_failed(instance, at)
    return _finding_action(instance, row, at)


def _finding_action(instance: Instance, row: ObservedRow, at: datetime) -> Action | None:
    if is_reached_again(instance, row):
        return lambda: mark_reachable(instance, at)
    if is_newly_cut_off(instance, row):
        return lambda: mark_cut_off(instance, row, at)
    runs = row.phase in ALIVE and instance.desired == Desired.RUNNING
    if runs and not set(instance.gpu_uuids).issuperset(row.gpu_uuids):
        return lambda: _report_inconsistency(instance, OtherGpus(gpus=names_of(row.gpu_uuids)))
    if instance.deadline is not None and row.detail != instance.progress_message:
        return lambda: _record_progress(instance, row.detail)
    return None


def _absence_action(instance: Instance, at: datetime) -> Action | None:
    if next_state(instance.state, instance.desired, ABSENT) is None:
        return None
    return lambda: _become_gone(instance, at)


def _run_isolated(instance: Instance, answer: Action | None) -> None:
    """Run an action in its own transaction.

    What fails for one instance must not lose the report of the others.
    """
    if answer is None:
        return
    try:
        with use_case():
            answer()
    except StaleRow:
        logger.info("instance %s moved meanwhile; the next report tells again", instance.pk)
    except DomainError as error:
        logger.exception("report on instance %s not taken in", instance.pk)
        open_incident(kind="report_refused", subject=public_id("inst", instance.pk), detail=stuck(error))


# State changes. Each locks in the documented order: wallets, leases with their offers, then the instance.


def _become_provisioning(instance: Instance, row: ObservedRow, at: datetime) -> None:
    change_state(
        instance,
        InstanceState.PROVISIONING,
        kind="provisioning",
        actor=HOST,
        **columns("progress", row.detail),
        **_seen(row, at),
    )


def _become_running(instance: Instance, row: ObservedRow, at: datetime) -> None:
    """Mark an instance as running after the acceptance test: its meter or reserved term begins now."""
    start_metering_use(instance, at=at)
    fresh = accepted_root_fields(instance)
    seen = {**_seen(row, at), **fresh, **found_disk_fields(instance), **no_longer_cut_off(instance, at)}
    with batched_writes():
        record_successful_start(instance, owner_id=instance.payee_id, at=at)  # type: ignore[attr-defined]  # as above
        change_state(instance, InstanceState.RUNNING, kind="running", actor=HOST, started_at=at, **NO_PROGRESS, **seen)
    if fresh:
        record_event(instance, kind="reimaged", actor=HOST)


def _become_failed(instance: Instance, row: ObservedRow, at: datetime) -> None:
    """Mark an instance as failed: charge what is proven and release the holds.

    The GPUs are released only when the container is proven to have stopped (D2). An instance that fails at its first
    run on a fresh root goes back to the former root instead.
    """
    if replace_taken_port(instance, row, at):
        return
    if should_revert_root(instance, row):
        revert_root(instance, row, at)
        return
    code = row.failure_code[:40] or row.phase
    fault, given_back = party_at_fault(instance, code), 0
    close_use_of(instance, host_failed=fault == FaultOf.HOST)
    if fault == FaultOf.HOST:
        given_back = record_fault(instance, owner_id=instance.payee_id, code=code, at=at)  # type: ignore[attr-defined]  # annotated by live_on_host
    change_state(
        instance,
        InstanceState.FAILED,
        kind="failed",
        actor=HOST,
        detail=row.detail,
        desired=Desired.STOPPED,
        stopped_at=None,
        failure_code=code,
        **columns("failure_detail", row.detail),
        fault_of=fault,
        **NO_PROGRESS,
        **no_longer_cut_off(instance, at),
        **_had_run(instance, row, at),
        **_seen(row, at),
    )
    record_refund(instance, given_back)
    record_lost_data(instance, code=code, detail=row.detail, at=at)
    if code == OUT_OF_MEMORY:
        raise_out_of_memory(instance, now=at)
    touch_host(instance)


def _had_run(instance: Instance, row: ObservedRow, at: datetime) -> dict[str, Any]:
    """Return columns that record a first run which ended between two reports.

    Its renter may have been inside, so the root is no longer unmodified, and the host is not to blame for its silence
    or broken entry point.
    """
    ended = row.phase == "exited" or (row.phase == "stopped" and bool(row.container))
    return {"started_at": at, "data_disk_made": instance.data_disk_gb > 0} if ended and instance.started_at is None else {}


def _become_stopped(instance: Instance, row: ObservedRow, at: datetime) -> None:
    """Mark an instance as stopped and free its GPUs, unless a term or the renter keeps them."""
    close_use_of(instance)
    kept = keep_gpus(instance, at=at)
    if not kept:
        _release_leases(instance, reason="stopped")
    change_state(
        instance,
        InstanceState.STOPPED,
        kind="stopped",
        actor=HOST,
        stopped_at=at,
        holds_gpus=kept,
        release_at=None if kept else at + RETENTION,
        **NO_PROGRESS,
        **no_longer_cut_off(instance, at),
        **_had_run(instance, row, at),
        **_seen(row, at),
    )


def _become_gone(instance: Instance, at: datetime) -> None:
    """Mark an instance as gone once the host has proven that nothing of it is left."""
    close_everything(instance, at=at)
    _release_leases(instance, reason="released")
    ended: dict[str, Any] = {"released_at": at, "release_at": None, "holds_gpus": False, "observed_at": at}
    close_lost_data(instance)
    change_state(instance, InstanceState.GONE, kind="gone", actor=HOST, **ended, **no_longer_cut_off(instance, at))
    free_ports(instance_id=instance.pk)


def _release_failed(instance: Instance, at: datetime) -> None:
    """Start the retention of a failed instance whose container is proven stopped, and free its GPUs.

    Inside a reserved term the GPUs stay leased: the instance can be started again, so the term is charged again.
    """
    kept = resume_term_of_failed(instance, at=at)
    if not kept:
        _release_leases(instance, reason="failed")
    same = Instance.objects.filter(pk=instance.pk, state=instance.state, generation=instance.generation)
    due = None if kept else at + RETENTION
    if not same.update(stopped_at=at, holds_gpus=kept, release_at=due, observed_at=at):
        raise StaleRow("The instance moved meanwhile.")
    record_event(instance, kind="gpus_kept" if kept else "gpus_released", actor=HOST)
    touch_renter(instance)


_MOVES: Final[Mapping[InstanceState, Callable[[Instance, ObservedRow, datetime], None]]] = {
    InstanceState.PROVISIONING: _become_provisioning,
    InstanceState.RUNNING: _become_running,
    InstanceState.FAILED: _become_failed,
    InstanceState.STOPPED: _become_stopped,
}


def _release_leases(instance: Instance, *, reason: str) -> None:
    """Release the leases and notify whoever waits for GPUs."""
    if release_leases(holder=instance.pk, reason=reason):
        hint_waiting()
        hint_freed_gpus(instance.offer_id)


def _seen(row: ObservedRow, at: datetime) -> dict[str, Any]:
    return {"observed_generation": row.generation, "observed_at": at}


def _record_progress(instance: Instance, message: Message | None) -> None:
    same = Instance.objects.filter(pk=instance.pk, generation=instance.generation)
    if same.update(**columns("progress", message)):
        touch_renter(instance)


def _report_inconsistency(instance: Instance, detail: Message) -> None:
    open_incident(kind="strange_report", subject=public_id("inst", instance.pk), detail=detail)


def _unknown_ids(host_id: UUID, unknown: set[UUID]) -> list[UUID]:
    """Return those ids that never were this host's.

    The last report of an instance that is gone may still arrive, so its id is known.
    """
    if not unknown:
        return []
    known = ids_of_host(host_id, list(unknown)) | migrated_ids(host_id, list(unknown)) | leftover_instance_ids(host_id)
    return sorted(unknown - known)


def _end_due_terms(reserved: Sequence[Instance], at: datetime) -> list[UUID]:
    """Return the terms that this report proves, after ending those that are over.

    A term is proven while its host reports, whether the instance runs or not.
    """
    if not reserved:
        return []
    ids = [instance.pk for instance in reserved]
    over = [term.instance_id for term in running_terms(ids) if term.ends_at <= at]
    for instance_id in over:
        _end_term_isolated(instance_id, at)
    return [term.pk for term in running_terms(ids) if term.ends_at > at]


def _end_term_isolated(instance_id: UUID, at: datetime) -> None:
    try:
        end_due_term(instance_id=instance_id, now=at, host_is_there=True)
    except StaleRow:
        logger.info("the term of instance %s is turned by the sweep", instance_id)
    except DomainError as error:
        logger.exception("the term of instance %s is not turned", instance_id)
        open_incident(kind="report_refused", subject=public_id("inst", instance_id), detail=stuck(error))
