"""Causes of runs that ended without an order, recorded at once, since the engine soon forgets them."""

import logging
from collections.abc import Iterable

from agents.daemon.engine.interface import Container, EngineRefused, EngineSilent, Runtime
from agents.daemon.lib.journal import EndedBy, Entry, Journal
from agents.daemon.reconciler.plan import is_unstarted

logger = logging.getLogger(__name__)


class ExitCauses:
    """Asks the engine about each container that ended although it should run."""

    def __init__(self, runtime: Runtime, journal: Journal) -> None:
        self._runtime = runtime
        self._journal = journal

    def settle(self, containers: Iterable[Container]) -> bool:
        """Return whether all causes are known; unknown ones are asked for again at the next look."""
        entries = self._journal.entries()
        unknown = [item for item in containers if _needs_cause(item, entries.get(item.instance, Entry()))]
        return all([self._determine(item) for item in unknown])

    def _determine(self, container: Container) -> bool:
        try:
            by: EndedBy = self._runtime.who_ended(container)
        except (EngineSilent, EngineRefused) as error:
            logger.warning("who ended %s cannot be told yet: %s", container.id[:12], error)
            return False
        self._journal.amend(container.instance, ended_run=container.started_at, ended_by=by)
        return True


def _needs_cause(container: Container, entry: Entry) -> bool:
    """Return whether a run of the present generation ended neither with its machine nor by an order."""
    wanted = entry.run == "running" and entry.failed != entry.generation
    ended = container.status == "exited" and not container.before_boot and not is_unstarted(container, entry)
    return wanted and ended and container.generation == entry.generation and entry.ended_run != container.started_at
