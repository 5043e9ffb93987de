"""Proof of an instance's use by reports of its host.

The time of a report's receipt counts, never the host's clock.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from billing.constants import INSTANCE_SOURCE, TERM_SOURCE
from billing.metering.meters import prove_meters
from common.db.transactions import use_case
from instances.constants import STOP_GRACE
from instances.core.observations import ObservedRow, sample_of, trace_of
from instances.enforcement.clock_watch import clock_is_trusted
from instances.lifecycle.host_faults import party_at_fault
from instances.models import Instance, InstanceSample, InstanceTrace
from instances.states import Desired, FaultOf, InstanceState

ALIVE: Final = ("running", "stopping")
_UNDER_WAY: Final = ("pulling", "creating", "testing")


def proves_use(instance: Instance, row: ObservedRow, at: datetime) -> bool:
    """Return whether the container ran for its renter at `at`.

    After a stop request only the grace still counts (D7). During a restart or re-image the meter runs on, since the
    old container runs until the image has been pulled.
    """
    if instance.state == InstanceState.RESTARTING and instance.desired == Desired.RUNNING:
        runs = row.phase in ALIVE or (row.phase in _UNDER_WAY and row.run_seconds > 0)
        return runs and row.generation <= instance.run_generation
    if row.phase not in ALIVE:
        return False
    if instance.desired == Desired.RUNNING:
        return row.generation == instance.run_generation and instance.state == InstanceState.RUNNING
    stop_requested_at = instance.stop_requested_at
    return instance.state != InstanceState.FAILED and stop_requested_at is not None and at <= stop_requested_at + STOP_GRACE


def ended_unasked(instance: Instance, row: ObservedRow) -> bool:
    """Return whether a run ended by no fault of its host, so that the time since the last report was used.

    Otherwise a program that ends itself before each report, or a restart that has to fail, would be free, again and
    again.
    """
    if row.generation != instance.run_generation or instance.desired != Desired.RUNNING:
        return False
    ended = instance.state == InstanceState.RUNNING and row.phase == "exited" and row.run_seconds > 0
    failed = instance.state == InstanceState.RESTARTING and row.phase in ("failed", "exited")
    return (ended or failed) and party_at_fault(instance, row.failure_code or row.phase) != FaultOf.HOST


def end_of_run(instance: Instance, row: ObservedRow, at: datetime) -> datetime:
    """Return the end of a run by the length that its host reports, but not after the receipt (D7).

    The length counts from when the run was known to have started. Meters bridge a limited time only, whatever a host
    reports.
    """
    if instance.state == InstanceState.RESTARTING or instance.started_at is None:
        return at
    return min(at, instance.started_at + timedelta(seconds=row.run_seconds))


def prove_and_sample(
    *,
    seen: Sequence[tuple[Instance, ObservedRow]],
    usable: Iterable[tuple[Instance, ObservedRow]],
    terms: Sequence[UUID],
    at: datetime,
) -> None:
    """Write, in one transaction, what a report proves of the `usable` instances, and the samples of all.

    `seen` are all instances that the report contains.
    """
    rows = list(usable)
    proven = [instance.pk for instance, row in rows if proves_use(instance, row, at)]
    ended = {instance.pk: end_of_run(instance, row, at) for instance, row in rows if ended_unasked(instance, row)}
    samples = [sample_of(instance.pk, row.sample, at) for instance, row in seen if row.sample is not None]
    if not proven and not ended and not samples and not terms:
        return
    if not clock_is_trusted():
        return
    with use_case():
        for instance_id, moment in ended.items():
            prove_meters(source_kind=INSTANCE_SOURCE, source_ids=[instance_id], at=moment)
        if proven:
            prove_meters(source_kind=INSTANCE_SOURCE, source_ids=proven, at=at)
        if terms:
            prove_meters(source_kind=TERM_SOURCE, source_ids=terms, at=at)
        if samples:
            InstanceSample.objects.bulk_create(samples)
            traces = [trace_of(instance.pk, row.sample, at) for instance, row in seen if row.sample is not None]
            InstanceTrace.objects.bulk_create([trace for trace in traces if trace is not None])
