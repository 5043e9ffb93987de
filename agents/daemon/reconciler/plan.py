"""Pure planner from desired and observed state to actions, at most one for each instance."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agents.daemon.engine.interface import Container, spec_of
from agents.daemon.lib.journal import Entry
from agents.daemon.reconciler.access_folder import access_digest
from agents.protocol.messages import DesiredInstance

Kind = Literal["create", "start", "attach", "test", "advance", "replace", "reimage", "discard", "refresh", "stop", "remove"]


@dataclass(frozen=True)
class Action:
    """One step towards the desired state, on these containers (the newest first, if there are several).

    create    the first container, or one from the saved root when the container is gone
    start     the container of this generation, which was made or renamed but not started yet
    attach    recreate the network of a running container whose network is gone or broken
    test      the acceptance test of a running container
    advance   rename to the new generation and start again: same specification
    replace   save the root, then make a container from it: other GPUs or shares
    reimage   a new container from the image: a fresh root was ordered
    discard   remove older containers, now that the newest runs
    refresh   rewrite the access folder
    stop      stop what runs
    remove    everything, until absence is proven
    """

    kind: Kind
    desired: DesiredInstance
    containers: tuple[Container, ...] = ()


@dataclass(frozen=True)
class Observed:
    """Everything that the planner may know."""

    containers: Sequence[Container] = ()
    entries: Mapping[str, Entry] = field(default_factory=dict)
    absent: frozenset[str] = frozenset()  # proven: nothing is left of them
    access: Mapping[str, str] = field(default_factory=dict)  # digest of each written access folder


def plan(desired: Iterable[DesiredInstance], observed: Observed) -> list[Action]:
    by_instance: dict[str, list[Container]] = {}
    for container in observed.containers:
        by_instance.setdefault(container.instance, []).append(container)
    actions = []
    for wanted in desired:
        own = sorted(by_instance.get(wanted.id, []), key=lambda item: item.generation, reverse=True)
        action = _plan_one(wanted, tuple(own), observed)
        if action is not None:
            actions.append(action)
    return actions


def _plan_one(desired: DesiredInstance, own: tuple[Container, ...], observed: Observed) -> Action | None:
    if desired.run == "gone":
        return None if desired.id in observed.absent and not own else Action("remove", desired, own)
    entry = observed.entries.get(desired.id, Entry())
    if desired.run == "stopped" or entry.failed == desired.generation:
        alive = tuple(item for item in own if item.status in ("running", "paused"))
        return Action("stop", desired, alive) if alive else None
    return _plan_running(desired, own, entry, observed.access.get(desired.id, ""))


def _plan_running(desired: DesiredInstance, own: tuple[Container, ...], entry: Entry, access: str) -> Action | None:
    if not own:
        # A container that vanished after it ran took the renter's root along: that is reported, never replaced by a new
        # root.
        return None if entry.accepted >= desired.generation else Action("create", desired)
    newest = own[0]
    if newest.generation < desired.generation:
        return _plan_next(desired, own)
    if newest.status == "running":
        return _plan_alive(desired, own, entry, access)
    if newest.status == "created" or is_unstarted(newest, entry):
        return Action("start", desired, own)
    return None  # it ended by itself: the control plane decides


def _plan_next(desired: DesiredInstance, own: tuple[Container, ...]) -> Action:
    """Plan another run on the wanted root.

    After a failed re-image, that root is not the newest container's.
    """
    base = next((item for item in own if item.root == desired.root), None)
    if base is None:
        return Action("reimage", desired, own)
    others = tuple(item for item in own if item.id != base.id)
    return Action("advance" if base.spec == spec_of(desired) else "replace", desired, (base, *others))


def _plan_alive(desired: DesiredInstance, own: tuple[Container, ...], entry: Entry, access: str) -> Action | None:
    if own[0].detached or own[0].mend_due:
        return Action("attach", desired, own)
    if entry.accepted < own[0].generation:
        return Action("test", desired, own)
    if len(own) > 1:
        return Action("discard", desired, own[1:])
    return Action("refresh", desired, own) if access != access_digest(desired) else None


def is_unstarted(container: Container, entry: Entry) -> bool:
    """Return whether an ended container was renamed for its generation but not started yet.

    A crash came in between.
    """
    return entry.starting == container.generation and entry.started_from == container.started_at
