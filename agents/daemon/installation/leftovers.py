"""What instances in quarantine have left on this machine, listed and removed for its owner.

After a restore from a backup, the market may not know an instance that is here. It is kept, stopped: what it left may be
the only copy of a renter's data.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agents.daemon import wiring
from agents.daemon.agent import Agent
from agents.daemon.lib.config import AgentConfig
from agents.daemon.lib.journal import read_entries
from agents.daemon.lib.sizes import MIB
from agents.daemon.reconciler.jobs import Job
from agents.daemon.reconciler.plan import Action
from agents.protocol.messages import DesiredInstance

_DISKS: Final = ("disks", "systems")
_BLOCK: Final = 512  # bytes, of which stat counts the blocks


class NotRemoved(Exception):
    """Nothing was removed; the text says why."""


@dataclass(frozen=True)
class Leftover:
    """What one instance has left: containers, networks, saved roots, disks with their sizes."""

    instance: str
    things: tuple[str, ...]


def list_leftovers(state: Path, config: AgentConfig) -> list[Leftover]:
    """List what the instances in quarantine have left, by id; the agent may be running.

    One that has left nothing any more is listed too: its removal was cut off before the journal said so.
    """
    path = state / "journal"
    kept = sorted(key for key, entry in read_entries(path).items() if entry.quarantined) if path.exists() else []
    runtime, disks = wiring.build_runtime(state, config), wiring.build_disks(state, config)
    with closing(runtime):
        return [Leftover(key, _with_sizes(state, [*runtime.leftovers(key), *disks.leftovers(key)])) for key in kept]


def remove_leftovers(state: Path, config: AgentConfig, instance: str) -> None:
    """Remove all that the instance has left; the caller holds the folder's lock. What was interrupted can be run again.

    Raises:
        NotRemoved: It is not in quarantine, or the market names it.
        LinkError: The market does not answer, so nobody knows whether it has the instance.
        EngineRefused: Something is still there.
    """
    agent = wiring.build_agent(state, config)
    try:
        _check(agent, instance)
        journal = agent.parts.journal
        entry = journal.entry(instance)
        gone = DesiredInstance(instance, entry.generation, entry.fence, run="gone", image="")
        containers = tuple(agent.parts.runtime.containers(instance))
        agent.parts.steps.run(Job(Action("remove", gone, containers), lambda _urgent: None))
        journal.amend(instance, run="gone", quarantined=False)
    finally:
        agent.parts.link.close()
        agent.parts.runtime.close()


def _check(agent: Agent, instance: str) -> None:
    journal = agent.parts.journal
    if not journal.entry(instance).quarantined:
        raise NotRemoved(f"{instance} is not in quarantine. `berth-agent leftovers` lists what is.")
    answer = agent.sync_without_work()
    if answer.epoch not in (None, journal.epoch):
        raise NotRemoved("The market has begun a new epoch. Let the agent run until it has agreed, then try again.")
    if instance in {item.id for item in answer.instances}:
        raise NotRemoved(f"The market knows {instance}: it is a renter's instance on this host.")


def _with_sizes(state: Path, things: Sequence[str]) -> tuple[str, ...]:
    return tuple(thing + _size(state, thing.rpartition(" ")[2]) for thing in things)


def _size(state: Path, name: str) -> str:
    """Return the size of the disk of this name; "" for what is none."""
    images = [path for path in (state / folder / name for folder in _DISKS) if path.suffix == ".ext4" and path.is_file()]
    if not images:
        return ""
    size = images[0].stat()
    return f", {size.st_size // MIB} MiB, of which {size.st_blocks * _BLOCK // MIB} MiB are in use"
