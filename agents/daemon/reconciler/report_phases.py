"""Conversion of observations into rows of the report, one pure function per row."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.daemon.disks.operation_runner import STEP_BYTES
from agents.daemon.engine.interface import Container, Runtime
from agents.daemon.lib.journal import EndedBy, Entry
from agents.daemon.reconciler.jobs import JobPhase
from agents.daemon.reconciler.plan import is_unstarted
from agents.protocol.messages import InstanceSample, ObservedInstance, Phase, Report
from agents.protocol.progress_messages import PORT_TAKEN, VOLUME_MISSING, Said, say

UNREACHABLE = "path_broken"
PAUSED = "paused"
THROTTLED = "throttled"
VANISHED = "The container was removed on the host by someone else."
RESTARTED = "The host was restarted while it ran."
KILLED = "It was ended on the host by someone else."
STARTED_AGAIN = "It was restarted on the host by someone else."
DETACHED = "Its network was removed on the host. It is being attached anew."
ENGINE_ENDED = "The host's container engine was restarted or ended while it ran."
PAUSED_BY_HOST = "The container is paused on the host."
BEING_SAVED = "It is paused while its root is copied."
REDUCED = "It has less than was ordered on the host: {what}."
CAUSE_PENDING = "It has ended; why is being found out."


def by_instance(containers: Iterable[Container]) -> dict[str, list[Container]]:
    own: dict[str, list[Container]] = {}
    for container in containers:
        own.setdefault(container.instance, []).append(container)
    return own


def remembered(entries: Mapping[str, Entry], own: Mapping[str, Sequence[Container]]) -> frozenset[str]:
    """Return the instances that the engine or the journal knows, for reports before a boot's first answer.

    Instances declared gone or unknown are left out.
    """
    known = ((key, entries.get(key, Entry())) for key in {*entries, *own})
    return frozenset(key for key, entry in known if entry.run != "gone" and not entry.quarantined)


@dataclass(frozen=True)
class View:
    """The engine as it was last observed."""

    containers: list[Container]
    seen_at: float  # when the engine was asked
    age_s: float = 0.0  # since it last answered; 0 if it just did

    def acknowledge(self, runtime: Runtime, look_again: Callable[[], None]) -> None:
        """Have the runtime forget pauses and reduced limits that are over: a report of this view was accepted."""
        impaired = [item.id for item in self.containers if item.paused or item.reduced]
        if impaired:
            runtime.reported(impaired)
            look_again()


def row_of(
    instance: str,
    entry: Entry,
    own: Sequence[Container],
    *,
    busy: JobPhase | None = None,
    sample: InstanceSample | None = None,
) -> ObservedInstance:
    """Return the row of one instance; `busy` is the phase and the detail of the present work on it."""
    newest = max(own, key=lambda item: item.generation, default=None)
    phase, generation, code, detail = _phase_of(entry, newest, own)
    if busy is not None:
        phase, generation, code = busy.phase, entry.generation, ""
        detail = "" if busy.said is None else busy.said.in_english
    return ObservedInstance(
        id=instance,
        generation=generation,
        phase=phase,
        gpu_uuids=list(newest.gpu_uuids) if newest else [],
        container=newest.id if newest else "",
        run_seconds=newest.run_seconds if newest and (newest.status == "running" or phase == "exited") else 0.0,
        detail=detail,
        failure_code=code,
        sample=sample,
        layers=list(busy.layers) if busy is not None else [],
        said=busy.said if busy is not None else _said_of_failure(entry, code),
    )


def _said_of_failure(entry: Entry, code: str) -> Said | None:
    """Return what a failure is about as data; None where the control plane does not act on that."""
    if code != entry.failure_code or not entry.failure_about:
        return None
    if code == PORT_TAKEN:
        return say(code, port=entry.failure_about)
    return say(code, volume=entry.failure_about, why=entry.failure_detail) if code == VOLUME_MISSING else None


def _phase_of(entry: Entry, newest: Container | None, own: Sequence[Container]) -> tuple[Phase, int, str, str]:
    alive = any(item.status in ("running", "paused") for item in own)
    if entry.run != "running":
        return ("stopping" if alive or entry.run == "gone" else "stopped"), entry.generation, "", ""
    if entry.failed and entry.failed == entry.generation:
        return "failed", entry.generation, entry.failure_code, entry.failure_detail
    if newest is None:
        if entry.accepted and entry.accepted == entry.generation:
            return "exited", entry.generation, "removed", VANISHED
        return "creating", entry.generation, "", ""
    return _container_phase(entry, newest)


def _container_phase(entry: Entry, newest: Container) -> tuple[Phase, int, str, str]:
    if newest.status == "running":
        return _running_phase(entry, newest)
    if newest.status == "paused":
        return "unknown", newest.generation, *(("", BEING_SAVED) if newest.saving else (PAUSED, PAUSED_BY_HOST))
    if newest.status == "exited" and not is_unstarted(newest, entry):
        if newest.before_boot:
            return "exited", newest.generation, "host_restarted", RESTARTED
        if entry.ended_run != newest.started_at and newest.generation == entry.generation:
            return "unknown", newest.generation, "", CAUSE_PENDING
        by = entry.ended_by if entry.ended_run == newest.started_at else "itself"
        return "exited", newest.generation, *_why_ended(newest, by)
    return "creating", newest.generation, "", ""


def _running_phase(entry: Entry, newest: Container) -> tuple[Phase, int, str, str]:
    if _is_another_run(entry, newest):
        return "exited", newest.generation, "killed", STARTED_AGAIN
    if newest.paused:
        return "unknown", newest.generation, PAUSED, PAUSED_BY_HOST
    if newest.reduced:
        return "unknown", newest.generation, THROTTLED, REDUCED.format(what=newest.reduced)
    if newest.detached or newest.cut:
        return "unknown", newest.generation, UNREACHABLE, newest.cut or DETACHED
    return ("running" if entry.accepted >= newest.generation else "testing"), newest.generation, "", ""


def _is_another_run(entry: Entry, container: Container) -> bool:
    """Return whether this is another run than the one that passed the acceptance test.

    Somebody ended that one and started the container again.
    """
    passed = entry.accepted == container.generation and entry.accepted_run
    return bool(passed) and entry.accepted_run != container.started_at


def _why_ended(container: Container, ended_by: EndedBy) -> tuple[str, str]:
    """Return code and sentence for the end of a run.

    Who ended it takes precedence over lack of memory: the engine's mark stays on a container that has long
    recovered.
    """
    if ended_by == "host":
        return "killed", KILLED
    if ended_by == "engine":
        return "engine_restarted", ENGINE_ENDED
    if container.out_of_memory:
        return "out_of_memory", "It used more memory than it has."
    return "exited", f"It ended with code {container.exit_code}."


def unknown_row(row: ObservedInstance) -> ObservedInstance:
    """Return the row of an instance while the engine does not answer."""
    return ObservedInstance(
        id=row.id,
        generation=row.generation,
        phase="unknown",
        gpu_uuids=row.gpu_uuids,
        container=row.container,
        detail="The host's container engine does not answer.",
    )


def comparable_part(report: Report) -> tuple[Any, ...]:
    """Return the part of a report whose change makes it worth sending ahead of time."""
    rows = tuple(
        (r.id, r.generation, r.phase, r.detail, r.failure_code, r.container, r.on_start, r.ready) for r in report.instances
    )
    tested = report.self_test.id if report.self_test else ""
    beside = tuple((o.id, o.phase, o.done_bytes // STEP_BYTES, o.detail) for o in report.operations)
    return rows, tuple(report.absent), tuple(report.foreign), tested, beside
