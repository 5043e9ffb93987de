"""Many simulated hosts in one process, each with its own identity and the same loop as a real one."""

import logging
import threading
from pathlib import Path

from agents.daemon import wiring
from agents.daemon.agent import Agent
from agents.daemon.lib.config import is_enrolled, load_config

logger = logging.getLogger(__name__)


class NotSimulated(Exception):
    """A fleet may only contain simulated hosts: a real one needs a process of its own."""


class Fleet:
    """The enrolled hosts in the subfolders of one folder."""

    def __init__(self, folder: Path) -> None:
        self._agents = [_build(state) for state in sorted(folder.iterdir()) if is_enrolled(state)]
        self._threads = [threading.Thread(target=agent.run, name="host", daemon=True) for agent in self._agents]

    def run(self) -> None:
        """Run all hosts until `stop` is called and every loop has ended."""
        logger.warning("SIMULATED: %d hosts without real GPUs or containers", len(self._agents))
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            thread.join()

    def stop(self) -> None:
        for agent in self._agents:
            agent.stop()


def _build(state: Path) -> Agent:
    config = load_config(state)
    if config.runtime != "simulated":
        raise NotSimulated(f"{state} is a real host: start it with `berth-agent run --state-dir {state}`")
    return wiring.build_agent(state, config)
