"""Start scripts and readiness checks with programs of this machine in a container's place."""

import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from agents.daemon.engine.interface import EngineRefused
from agents.daemon.reconciler.readiness import ReadinessProber, probe
from agents.daemon.reconciler.start_scripts import LOG_BYTES, ScriptLog, StartScripts, lines_of, script_command
from agents.protocol.launch_messages import Launch, ReadinessCheck, StartScript

HEAD = struct.Struct(">BxxxL")


class Local:
    """Runs a script here, and sends what it writes in the engine's frames."""

    first = b""

    def __init__(self, words: list[str]) -> None:
        self.connection, self._far = socket.socketpair()
        self._code: int | None = None
        threading.Thread(target=self._run, args=(words,), daemon=True).start()

    def _run(self, words: list[str]) -> None:
        done = subprocess.run(words, capture_output=True, check=False)
        for kind, text in ((1, done.stdout), (2, done.stderr)):
            if text:
                self._far.sendall(HEAD.pack(kind, len(text)) + text)
        self._code = done.returncode
        self._far.close()

    def exit_code(self) -> int | None:
        return self._code


class LocalExec:
    """Where scripts run; `refused` for an engine that starts none."""

    def __init__(self, *, refused: bool = False) -> None:
        self.started, self._refused = 0, refused

    def script(self, instance: str, words: list[str], launch: Launch) -> Local:
        self.started += 1
        if self._refused:
            raise EngineRefused("no such user")
        return Local(words)


def eventually(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def ended(scripts: StartScripts, run: str) -> bool:
    state = scripts.state("i", run)
    return state is not None and state.state == "ended"


def test_a_script_runs_once_in_each_run(tmp_path: Path) -> None:
    doorway, changes = LocalExec(), []
    scripts = StartScripts(tmp_path, doorway, lambda: changes.append(1))
    launch = Launch(on_start="echo out; echo bad >&2; exit 3")
    for _ in range(3):
        scripts.begin("i", "run-1", launch)
    eventually(lambda: ended(scripts, "run-1"))
    assert scripts.state("i", "run-1") == StartScript("ended", 3)
    assert (doorway.started, changes) == (1, [1])
    assert [line.partition(b" ")[2] for line in scripts.log("i").splitlines()] == [b"out", b"bad"]
    assert scripts.state("i", "run-2") is None
    scripts.begin("i", "run-2", Launch(on_start="exit 0"))
    eventually(lambda: ended(scripts, "run-2"))
    assert scripts.log("i") == b""
    scripts.drop("i")
    assert scripts.instances() == set()


def test_a_restarted_agent_does_not_run_it_again(tmp_path: Path) -> None:
    first = StartScripts(tmp_path, LocalExec(), lambda: None)
    first.begin("i", "run-1", Launch(on_start="exit 4"))
    eventually(lambda: ended(first, "run-1"))
    first.begin("j", "run-1", Launch(on_start="sleep 30"))
    doorway = LocalExec()
    again = StartScripts(tmp_path, doorway, lambda: None)
    for instance in ("i", "j"):
        again.begin(instance, "run-1", Launch(on_start="exit 4"))
    assert again.state("i", "run-1") == StartScript("ended", 4)
    assert again.state("j", "run-1") == StartScript("lost")
    assert doorway.started == 0


def test_a_script_that_cannot_be_started_says_so(tmp_path: Path) -> None:
    scripts = StartScripts(tmp_path, LocalExec(refused=True), lambda: None)
    scripts.begin("i", "run-1", Launch(on_start="true"))
    eventually(lambda: ended(scripts, "run-1"))
    assert scripts.state("i", "run-1") == StartScript("ended", 126)
    assert b"could not be started" in scripts.log("i")


def test_the_log_is_limited(tmp_path: Path) -> None:
    log = ScriptLog(tmp_path / "log")
    for number in range(3000):
        log.add(b"%05d" % number + b"x" * 1000)
    assert len(log.read()) < 2 * LOG_BYTES + 5000
    assert b"02999" in log.read()


def test_lines() -> None:
    assert list(lines_of(iter([b"a\nb", b"c\n", b"d"]))) == [b"a", b"bc", b"d"]
    assert [len(line) for line in lines_of(iter([b"x" * 10_000]))] == [4096, 4096, 1808]
    assert [len(line) for line in lines_of(iter([b"x" * 10_000 + b"\n\ny"]))] == [4096, 4096, 1808, 0, 1]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo", ["/bin/sh"]),
        ("#!/bin/bash -e\nx", ["/bin/bash", "-e"]),
        ("#!/usr/bin/env bash\nx", ["/usr/bin/env", "bash"]),
    ],
)
def test_the_first_line_names_the_shell(script: str, words: list[str]) -> None:
    assert script_command(script) == [*words, "-c", script]


def served(answer: bytes) -> Callable[[int], socket.socket]:
    def connect(_port: int) -> socket.socket:
        near, far = socket.socketpair()

        def serve() -> None:
            with far:
                far.recv(4096)
                far.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        return near

    return connect


def refuse(_port: int) -> socket.socket:
    raise ConnectionRefusedError


@pytest.mark.parametrize("status", [200, 204, 500])
def test_the_status_of_http(status: int) -> None:
    answer = b"HTTP/1.1 %d Some words\r\nContent-Length: 0\r\n\r\n" % status
    assert probe(ReadinessCheck("http", 80, "/x"), served(answer)) == status


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1\r\n", b"HTTP/1.1 abc\r\n", b"x" * 4000])
def test_what_is_not_http(answer: bytes) -> None:
    with pytest.raises(ValueError, match="no HTTP"):
        probe(ReadinessCheck("http", 80, "/x"), served(answer))


@pytest.mark.parametrize(
    ("connect", "age", "state"),
    [
        (served(b"HTTP/1.1 200 OK\r\n\r\n"), 0.0, "ready"),
        (served(b"HTTP/1.1 204 No\r\n\r\n"), 99.0, "starting"),
        (served(b"HTTP/1.1 500 No\r\n\r\n"), 99.0, "not_ready"),
        (served(b"HTTP/1.1 500 No\r\n\r\n"), 0.0, "starting"),
        (refuse, 99.0, "not_ready"),
        (refuse, 0.0, "starting"),
    ],
)
def test_states(connect: Callable[[int], socket.socket], age: float, state: str) -> None:
    prober = ReadinessProber(ReadinessCheck("http", 80, "/x", 50), "run", age, connect, lambda: None)
    try:
        eventually(lambda: prober.state == state)
    finally:
        prober.stop()


def test_a_program_that_answers_in_turns_costs_no_report_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.daemon.reconciler.readiness.POLL_COMING", 0.01)
    queries, changed = count(), list[int]()

    def connect(port: int) -> socket.socket:
        return served(b"HTTP/1.1 204 No\r\n\r\n" if next(queries) % 2 else b"HTTP/1.1 500 No\r\n\r\n")(port)

    prober = ReadinessProber(ReadinessCheck("http", 80, "/x", 0), "run", 99.0, connect, lambda: changed.append(1))
    try:
        eventually(lambda: next(queries) > 20)
    finally:
        prober.stop()
    assert changed == [1]
