"""What a report proves of the use of an instance: by the time of its receipt, whatever the host's clock says."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from billing.constants import INSTANCE_SOURCE, TERM_SOURCE
from billing.metering.meters import prove_meters
from common.db.transactions import use_case
from instances.constants import STOP_GRACE
from instances.core.observations import ObservedRow, sample_of, trace_of
from instances.enforcement.clock_watch import clock_is_believed
from instances.lifecycle.blame import blame
from instances.models import Instance, InstanceSample, InstanceTrace
from instances.states import Desired, FaultOf, InstanceState

ALIVE: Final = ("running", "stopping")
_UNDER_WAY: Final = ("pulling", "creating", "testing")


def proves_use(instance: Instance, row: ObservedRow, at: datetime) -> bool:
    """Whether the container was alive for its renter at `at`. After a stop request only the grace still counts (D7).

    While a restart or a re-image goes on, so does the meter: until the image has come, for one, what there is runs.
    """
    if instance.state == InstanceState.RESTARTING and instance.desired == Desired.RUNNING:
        runs = row.phase in ALIVE or (row.phase in _UNDER_WAY and row.run_seconds > 0)
        return runs and row.generation <= instance.run_generation
    if row.phase not in ALIVE:
        return False
    if instance.desired == Desired.RUNNING:
        return row.generation == instance.run_generation and instance.state == InstanceState.RUNNING
    asked = instance.stop_requested_at
    return instance.state != InstanceState.FAILED and asked is not None and at <= asked + STOP_GRACE


def ended_unasked(instance: Instance, row: ObservedRow) -> bool:
    """Whether this tells of the end of a run that its host is not to blame for: the seconds since the last report were used.
    Else a program that ends itself before each report, or a restart that has to fail, would be free, again and again."""
    if row.generation != instance.run_generation or instance.desired != Desired.RUNNING:
        return False
    ended = instance.state == InstanceState.RUNNING and row.phase == "exited" and row.run_seconds > 0
    failed = instance.state == InstanceState.RESTARTING and row.phase in ("failed", "exited")
    return (ended or failed) and blame(instance, row.failure_code or row.phase) != FaultOf.HOST


def end_of_run(instance: Instance, row: ObservedRow, at: datetime) -> datetime:
    """By how long the run was, as its host says, from when it was known to run on; no later than the report (D7). Meters
    bridge so much and no more, whoever lies."""
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
    """Take in, in one transaction, what a report proves of the `usable` ones of all that it tells of, and their samples."""
    rows = list(usable)
    proven = [instance.pk for instance, row in rows if proves_use(instance, row, at)]
    ended = {instance.pk: end_of_run(instance, row, at) for instance, row in rows if ended_unasked(instance, row)}
    samples = [sample_of(instance.pk, row.sample, at) for instance, row in seen if row.sample is not None]
    if not proven and not ended and not samples and not terms:
        return
    if not clock_is_believed():
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
