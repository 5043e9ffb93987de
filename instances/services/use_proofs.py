"""What a report proves of the use of an instance: by the time of its receipt, whatever the host's clock says."""

from datetime import datetime, timedelta
from typing import Final

from instances.models import Instance
from instances.policy import STOP_GRACE
from instances.services.blame import blame
from instances.services.observations import ObservedRow
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
