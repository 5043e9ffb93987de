"""Process of one host's agent: it holds the folder and the engine, and ends or restarts on signals."""

import errno
import logging
import os
import resource
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
from agents.daemon.lib.state_folder import folder_lock, read_or_record_location

logger = logging.getLogger(__name__)

_OPEN_FILES: Final = 8_192  # two for each stream, beside those of SSH and of the agent itself; 1,024 is usual
_NOT_WRITABLE: Final = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC)


@dataclass
class _HostLock:
    """Hold on the folder and, with a real engine, on the host's claim there."""

    stop: Callable[[], None] = lambda: None
    taken: HostTaken | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def lose(self, error: HostTaken) -> None:
        self.taken = error
        self.stop()


def run_host(state: Path, config: AgentConfig, *, once: bool) -> None:
    """Run the agent until a signal ends it.

    SIGUSR1 ends it too, and then executes the program again from its own path: so another version takes over.

    Raises:
        FolderInUse: Another agent runs from the folder.
        FolderCopied: The folder is a copy.
        FolderUnusable: The folder cannot be written.
        HostTaken: The agent of another folder has this host's claim on the engine.
        EngineUnfit: The container engine cannot keep a promise to renters.
        EngineSilent: The container engine does not answer.
        EngineRefused: The container engine refuses a query.
        LinkError: With `once`, the control plane refused or could not be reached.
    """
    again = threading.Event()
    _allow_open_files()
    with _held(state, config) as hold:
        agent = _build(state, config)
        logger.info("host %s (%s), runtime %s, market %s", config.name, config.host_id, config.runtime, config.url)
        hold.stop = agent.stop
        if once:
            agent.run_once()
        else:
            stop_on_signals(agent.stop)
            _restart_on_signal(agent, again)
            agent.run()
        if hold.taken is not None:
            raise hold.taken
    if again.is_set():
        logger.info("restarting")
        program, words = own_command()
        os.execv(program, words)  # noqa: S606 (its own command line)


def _allow_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(_OPEN_FILES, hard)), hard))


def stop_on_signals(stop: Callable[[], None]) -> None:
    """Call `stop` on SIGTERM and SIGINT."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop())


def _restart_on_signal(agent: Agent, again: threading.Event) -> None:
    def end(*_: object) -> None:
        again.set()
        agent.stop()

    signal.signal(signal.SIGUSR1, end)


def own_command() -> tuple[str, list[str]]:
    """Return the program and arguments that started this process.

    An installed program is found by its own path: a link there may lead to another version by now, whose
    interpreter is in its first line.
    """
    if sys.orig_argv[1:2] == ["-m"]:
        return sys.executable, sys.orig_argv
    return sys.argv[0], sys.argv


@contextmanager
def _held(state: Path, config: AgentConfig) -> Iterator[_HostLock]:
    hold = _HostLock()
    with folder_lock(state):
        with _writing(state):
            place = read_or_record_location(state)
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
