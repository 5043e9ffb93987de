"""From what is seen to what is reported: one pure function per row."""

from collections.abc import Sequence

from agents.daemon.jobs import Busy
from agents.daemon.journal import Entry
from agents.daemon.plan import is_unstarted
from agents.daemon.runtime import Container
from agents.protocol.messages import InstanceSample, ObservedInstance, Phase

VANISHED = "The container was removed on the host by someone else."
RESTARTED = "The host was restarted while it ran."


def row_of(
    instance: str,
    entry: Entry,
    own: Sequence[Container],
    *,
    busy: Busy | None = None,
    sample: InstanceSample | None = None,
) -> ObservedInstance:
    """The row of one instance; `busy` is the phase and the sentence of the work now going on for it."""
    newest = max(own, key=lambda item: item.generation, default=None)
    phase, generation, code, detail = _judge(entry, newest, own)
    if busy is not None:
        phase, detail, generation, code = busy.phase, busy.detail, entry.generation, ""
    return ObservedInstance(
        id=instance,
        generation=generation,
        phase=phase,
        gpu_uuids=list(newest.gpu_uuids) if newest else [],
        container=newest.id if newest else "",
        run_seconds=newest.run_seconds if newest and newest.status == "running" else 0.0,
        detail=detail,
        failure_code=code,
        sample=sample,
        layers=list(busy.layers) if busy is not None else [],
    )


def _judge(entry: Entry, newest: Container | None, own: Sequence[Container]) -> tuple[Phase, int, str, str]:
    alive = any(item.status in ("running", "paused") for item in own)
    if entry.run != "running":
        return ("stopping" if alive or entry.run == "gone" else "stopped"), entry.generation, "", ""
    if entry.failed and entry.failed == entry.generation:
        return "failed", entry.generation, entry.failure_code, entry.failure_detail
    if newest is None:
        if entry.accepted and entry.accepted == entry.generation:
            return "exited", entry.generation, "removed", VANISHED
        return "creating", entry.generation, "", ""
    return _judge_container(entry, newest)


def _judge_container(entry: Entry, newest: Container) -> tuple[Phase, int, str, str]:
    phase: Phase = "creating"
    if newest.status == "running":
        phase = "running" if entry.accepted >= newest.generation else "testing"
    elif newest.status == "paused":
        return "unknown", newest.generation, "", "The container is paused on the host."
    elif newest.status == "exited" and not is_unstarted(newest, entry):
        return "exited", newest.generation, *_why_ended(newest)
    return phase, newest.generation, "", ""


def _why_ended(container: Container) -> tuple[str, str]:
    """Its own doing, or the host's: one that was started before the machine's last boot went down with the machine."""
    if container.before_boot:
        return "host_restarted", RESTARTED
    if container.out_of_memory:
        return "out_of_memory", "It used more memory than it has."
    return "exited", f"It ended with code {container.exit_code}."


def unvouched(row: ObservedInstance) -> ObservedInstance:
    """The row of an instance while the engine does not answer."""
    return ObservedInstance(
        id=row.id,
        generation=row.generation,
        phase="unknown",
        gpu_uuids=row.gpu_uuids,
        container=row.container,
        detail="The host's container engine does not answer.",
    )
