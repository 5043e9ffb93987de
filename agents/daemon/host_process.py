"""One host's agent as a process: it holds its folder and its engine, ends on signals, and starts anew as another version."""

import errno
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agents.daemon import wiring
from agents.daemon.agent import Agent
from agents.daemon.docker_engine.fitness import check_engine
from agents.daemon.docker_engine.host_claim import HostTaken, claim_engine, watch_claim
from agents.daemon.lib.config import AgentConfig, FolderUnusable
from agents.daemon.lib.state_folder import folder_lock, own_place

logger = logging.getLogger(__name__)

_NOT_WRITABLE: Final = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC)


@dataclass
class _Hold:
    """The folder and, on a real engine, the host's name there."""

    stop: Callable[[], None] = lambda: None
    taken: HostTaken | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def lose(self, error: HostTaken) -> None:
        self.taken = error
        self.stop()


def run_host(state: Path, config: AgentConfig, *, once: bool) -> None:
    """Run the agent until a signal ends it. SIGUSR1 ends it too and starts it anew from the program's own place: so another
    version takes over.

    Raises FolderInUse, FolderCopied, HostTaken, EngineUnfit, FolderUnusable, and what the link and the engine say.
    """
    again = threading.Event()
    with _held(state, config) as hold:
        agent = _build(state, config)
        logger.info("host %s (%s), runtime %s, market %s", config.name, config.host_id, config.runtime, config.url)
        hold.stop = agent.stop
        if once:
            agent.run_once()
        else:
            stop_on_signals(agent.stop)
            _start_anew_on_signal(agent, again)
            agent.run()
        if hold.taken is not None:
            raise hold.taken
    if again.is_set():
        logger.info("starting anew")
        program, words = own_command()
        os.execv(program, words)  # noqa: S606  (its own command line)


def stop_on_signals(stop: Callable[[], None]) -> None:
    """SIGTERM and SIGINT end what runs here."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop())


def _start_anew_on_signal(agent: Agent, again: threading.Event) -> None:
    def end(*_: object) -> None:
        again.set()
        agent.stop()

    signal.signal(signal.SIGUSR1, end)


def own_command() -> tuple[str, list[str]]:
    """What was typed to start this process. An installed program is found by its own path: a link there may lead to another
    version by now, whose interpreter stands in its first line."""
    if sys.orig_argv[1:2] == ["-m"]:
        return sys.executable, sys.orig_argv
    return sys.argv[0], sys.argv


@contextmanager
def _held(state: Path, config: AgentConfig) -> Iterator[_Hold]:
    hold = _Hold()
    with folder_lock(state):
        with _writing(state):
            place = own_place(state)
        if config.runtime == "docker":
            check_engine()
            if place is None:
                logger.warning(
                    "the folder's place could not be written: until there is room, a copy of it is not told from it"
                )
            else:
                claim_engine(config.host_id, place)
                watched = (config.host_id, place, hold.lose, hold.ended)
                threading.Thread(target=watch_claim, args=watched, name="claim", daemon=True).start()
        try:
            yield hold
        finally:
            hold.ended.set()


def _build(state: Path, config: AgentConfig) -> Agent:
    with _writing(state):
        return wiring.build_agent(state, config)


@contextmanager
def _writing(state: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _NOT_WRITABLE:
            raise
        raise FolderUnusable(f"The agent's folder {state} cannot be written: {error.strerror}.") from error
