"""Agents that die by SIGKILL at a named step: a process that has loaded all of the agent forks one for each connection.

`python -m tests.docker.fork_server SOCKET` listens there. The first line of a connection says where the agent's state is.
From then on the child announces each step that it comes to, one a line, and dies at the one that it was armed with.

With `words` in its first line the child runs that command of berth-agent instead of the agent, and tells its exit status.

Steps are announced by the agent's own checkpoints (`=created`), and by the interpreter before every effect on the machine
(`POST containers/create`, `mount`, `rename disks/ID.ext4`): one that nobody thought of is announced as well. Each with the
kind of work that came to it.
"""

import io
import json
import logging
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Final, NoReturn

from agents.daemon import wiring
from agents.daemon.__main__ import main as main_of_agent
from agents.daemon.agent import Agent
from agents.daemon.docker_engine import reachability_watch
from agents.daemon.engine.interface import Runtime
from agents.daemon.lib.config import load_config
from agents.daemon.lib.journal import Entry
from agents.daemon.reconciler.plan import Observed, plan
from agents.daemon.transfer import transfer_session

_ID: Final = re.compile(r"[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{12}")
_NUMBER: Final = re.compile(r"(?<=:)\d+|(?<=ID\.)\d+(?=\.)")  # of a saved root, and of one on a system disk
_REQUEST: Final = re.compile(rb"(POST|PUT|DELETE) /v[0-9.]+/([^ ?]+)")
_READING: Final = {"findmnt", "nvidia-smi", "losetup -n", "iptables --wait -S", "iptables --wait -C"}
_WRITE: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_PLACES: Final = ("os.mkdir", "os.rmdir", "os.remove", "os.rename", "os.truncate", "shutil.rmtree")


class Announcer:
    """Tells the test of every step, and ends the process at the one that it was armed with."""

    def __init__(self, connection: socket.socket, state: str, fatal: tuple[str, int]) -> None:
        self._connection = connection
        self._state = state
        self._lock = threading.Lock()
        self._fatal = fatal

    def arm(self, step: str, passes: int) -> None:
        self._fatal = step, passes

    def checkpoint(self, name: str) -> None:
        self.announce(f"={name}")

    def announce(self, step: str) -> None:
        kind = threading.current_thread().name.removeprefix("operation-").partition("-")[0]
        with self._lock:
            self._connection.sendall(f"{kind}\t{step}\n".encode())
            name, left = self._fatal
            if step != name:
                return
            self._fatal = name, left - 1
            if left == 1:
                os.kill(os.getpid(), signal.SIGKILL)
                signal.pause()

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        """An audit hook: called before the interpreter does what the event says."""
        step = self._step_of(event, args)
        if step:
            self.announce(_NUMBER.sub("N", _ID.sub("ID", step)).strip())

    def _step_of(self, event: str, args: tuple[Any, ...]) -> str:
        if event == "http.client.send":
            found = _REQUEST.match(bytes(args[1])) if isinstance(args[1], bytes) else None
            return f"{found[1].decode()} {found[2].decode()}" if found else ""
        if event == "subprocess.Popen":
            return _program(args[1])
        if event == "fcntl.ioctl":
            return f"ioctl {args[1]:#x}"
        if event == "open" and isinstance(args[2], int) and args[2] & _WRITE:
            return self._file("write", args[0])
        if event in _PLACES:
            return self._file(event.partition(".")[2], args[0])
        return ""

    def _file(self, verb: str, path: object) -> str:
        text = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
        return f"{verb} {text.removeprefix(self._state)}" if str(text).startswith(self._state) else ""


def _program(command: Any) -> str:
    words = [str(word) for word in command]
    words[0] = words[0].rpartition("/")[2]
    shown = " ".join(word for word in words[:3] if not word.startswith("/"))
    return "" if any(shown.startswith(reading) for reading in _READING) else shown


def _live(connection: socket.socket) -> None:
    lines = connection.makefile("r", encoding="utf-8")
    wanted = json.loads(lines.readline())
    os.environ.update(wanted["env"])
    state = Path(wanted["state"])
    logging.basicConfig(filename=f"{state}.log", level=logging.INFO, format="%(asctime)s %(process)d %(message)s")
    announcer = Announcer(connection, wanted["state"], (wanted["step"], wanted["passes"]))
    announcer.announce(f"!{os.getpid()}")
    if wanted["words"]:
        sys.stdin = io.StringIO(wanted["typed"])
        _type(wanted["words"], state, announcer)
    sys.addaudithook(announcer.hear)
    config = load_config(state)
    _look_often(wanted["env"])
    agent = wiring.build_agent(state, config, announcer.checkpoint)
    announced = _announce_epochs(agent, announcer)
    eyes = wiring.build_runtime(state, config)  # the agent's own belong to its loop
    threading.Thread(target=_obey, args=(lines, announcer, agent, eyes, announced), daemon=True).start()
    agent.run()


def _type(words: list[str], state: Path, announcer: Announcer) -> NoReturn:
    """One command, as its owner types it."""
    with Path(f"{state}.log").open("a", encoding="utf-8") as log, redirect_stdout(log), redirect_stderr(log):
        sys.addaudithook(announcer.hear)
        code = main_of_agent([*words, "--state-dir", str(state)])
    announcer.announce(f"!code {code}")
    os._exit(0)


def _look_often(env: Mapping[str, str]) -> None:
    """At the ways to its containers, where a test asks for it."""
    if pause := env.get("BERTH_TEST_LOOK_S"):
        reachability_watch.EVERY = reachability_watch.WHILE_UNREACHABLE = reachability_watch.AGAIN = float(pause)  # type: ignore[misc]  # no test waits so long


def _announce_epochs(agent: Agent, announcer: Announcer) -> threading.Event:
    """The steps of agreeing to an epoch; when it has taken up all that it was told once."""
    announced, accept, record = threading.Event(), agent._accept, agent.parts.journal.record

    def accepted(*heard: Any) -> None:
        accept(*heard)
        if agent._desired is None:
            announcer.announce("=epoch-told")
        else:
            announced.set()

    def recorded(changes: Mapping[str, Entry], *, epoch: int = 0) -> None:
        if epoch:
            announcer.announce("=epoch-taken")
        record(changes, epoch=epoch)
        if epoch:
            announcer.announce("=epoch-kept")

    agent._accept = accepted  # type: ignore[method-assign, assignment]  # it passes on whatever it is told
    agent.parts.journal.record = recorded  # type: ignore[method-assign]  # likewise
    return announced


def _obey(lines: Any, announcer: Announcer, agent: Agent, eyes: Runtime, announced: threading.Event) -> None:
    for line in lines:
        match json.loads(line):
            case ["arm", step, passes]:
                announcer.arm(step, passes)
                announcer.announce("!armed")
            case ["busy"]:
                announcer.announce("!idle" if announced.is_set() and not _is_busy(agent, eyes) else "!busy")
    os.kill(os.getpid(), signal.SIGKILL)  # the test has gone away


def _is_busy(agent: Agent, eyes: Runtime) -> bool:
    """Whether it works, or would begin to if it looked now; of one that has taken up all that it was told once."""
    if agent.parts.operations.at_work():
        return True
    if agent._desired is None:  # of a new epoch it has taken nothing yet
        return True
    observed = Observed(
        containers=eyes.containers(),
        entries=agent.parts.journal.entries(),
        absent=agent._workers.absent,
        access={instance: agent.parts.access.digest(instance) for instance in agent._desired},
    )
    planned = plan(list(agent._desired.values()), observed)
    return bool(planned) or agent._workers.at_work()  # in this order: what was planned may have been begun meanwhile


def main(path: str) -> None:
    transfer_session.PAUSE = 0.2  # type: ignore[misc]  # after each cut: how long it is makes no difference to what follows
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the agent waits for its own programs
                listener.close()
                try:
                    _live(connection)
                finally:
                    os._exit(1)
            connection.close()


if __name__ == "__main__":
    main(sys.argv[1])
