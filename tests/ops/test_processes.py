"""The supervisor: what dies comes back after a growing pause, and nothing is left when it stops."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from devserver import supervisor as devserver_supervisor
from devserver.processes import reloading
from devserver.supervisor import Program, Supervisor, last_lines


def program(name: str, code: str, **settings: object) -> Program:
    return Program(name, (sys.executable, "-c", code), dict(os.environ), **settings)  # type: ignore[arg-type]


def wait_until(true: Callable[[], object], within_s: float = 60.0) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    supervisor = Supervisor(tmp_path / "logs")
    yield supervisor
    supervisor.stop()


def test_output_goes_to_the_log(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.start(program("speaker", "import sys; print('out', flush=True); print('err', file=sys.stderr)"))
    log = tmp_path / "logs" / "speaker.log"
    wait_until(lambda: len(last_lines(log, 5)) == 2)
    assert last_lines(log, 5) == ["out", "err"]


def test_dead_child_is_started_again_with_a_growing_pause(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devserver_supervisor, "FIRST_PAUSE_S", 0.05)
    supervisor.start(program("short", "pass"))
    starts: list[int] = []
    began = time.monotonic()

    def started_four_times() -> bool:
        supervisor.tend()
        pid = supervisor.pids()["short"]
        if pid is not None and pid not in starts:
            starts.append(pid)
        return len(starts) == 4

    wait_until(started_four_times)
    assert time.monotonic() - began >= 0.05 + 0.1 + 0.2


def test_killed_child_leaves_no_grandchild(supervisor: Supervisor, tmp_path: Path) -> None:
    code = (
        "import pathlib, subprocess, sys, time;"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(child.pid)); time.sleep(60)"
    )
    supervisor.start(program("parent", code))
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    grandchild = int((tmp_path / "pid").read_text())
    parent = supervisor.pids()["parent"]
    assert parent is not None
    os.kill(parent, signal.SIGKILL)

    def came_again() -> bool:
        supervisor.tend()
        return supervisor.pids()["parent"] != parent

    wait_until(came_again)
    wait_until(lambda: not alive(grandchild))


def test_groups_stop_in_reverse_order(supervisor: Supervisor, tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\n"
        "def leave(*_):\n"
        f"    open({str(tmp_path / 'order')!r}, 'a').write(sys.argv[1]); sys.exit()\n"
        "signal.signal(signal.SIGTERM, leave); print('ready', flush=True); time.sleep(60)"
    )
    for name in ("1", "2", "3"):
        supervisor.start(Program(name, (sys.executable, "-c", code, name), dict(os.environ)))
        log = tmp_path / "logs" / f"{name}.log"
        wait_until(partial(is_ready, log))
    supervisor.stop()
    assert (tmp_path / "order").read_text() == "321"


def test_stubborn_child_is_killed_after_its_grace(supervisor: Supervisor, tmp_path: Path) -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
    supervisor.start(program("stubborn", code, grace_s=0.2))
    wait_until(lambda: last_lines(tmp_path / "logs" / "stubborn.log", 1) == ["ready"])
    pid = supervisor.pids()["stubborn"]
    assert pid is not None
    supervisor.stop()
    assert not alive(pid)


@pytest.mark.parametrize("inherited", [signal.default_int_handler, signal.SIG_IGN])  # in a terminal, and with `&`
def test_child_is_stopped_by_its_own_signal(supervisor: Supervisor, tmp_path: Path, inherited: Any) -> None:
    # Short sleeps: a signal just before a long one would only be seen after it.
    code = (
        "import time\ntry:\n print('ready', flush=True)\n while True: time.sleep(0.1)\n"
        "except KeyboardInterrupt: print('interrupted')"
    )
    before = signal.signal(signal.SIGINT, inherited)
    try:
        supervisor.start(program("polite", code, stop_signal=signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)
    wait_until(lambda: last_lines(tmp_path / "logs" / "polite.log", 1) == ["ready"])
    supervisor.stop()
    assert last_lines(tmp_path / "logs" / "polite.log", 1) == ["interrupted"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent has died")
def test_children_end_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, sys, time; from pathlib import Path; from devserver.supervisor import Program, Supervisor\n"
        f"s = Supervisor(Path({str(tmp_path)!r}))\n"
        "s.start(Program('sleeper', (sys.executable, '-c', 'import time; time.sleep(60)'), dict(os.environ)))\n"
        "print(s.pids()['sleeper'], flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        wait_until(lambda: "sleep(60)" in " ".join(psutil.Process(child).cmdline()[-1:]))
        time.sleep(0.2)  # the launcher has turned into the program; prctl came before
        parent.kill()
        wait_until(lambda: not alive(child))


def test_long_log_is_put_aside(supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devserver_supervisor, "LOG_LIMIT_BYTES", 10)
    log = tmp_path / "logs" / "speaker.log"
    log.write_text("a long story\n")
    supervisor.start(program("speaker", "print('new')"))
    wait_until(lambda: last_lines(log, 1) == ["new"])
    assert log.with_suffix(".log.1").read_text() == "a long story\n"


def is_ready(log: Path) -> bool:
    return last_lines(log, 1) == ["ready"]


def alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def test_a_changed_file_starts_a_reloading_program_anew(supervisor: Supervisor, tmp_path: Path) -> None:
    watched = tmp_path / "watched"
    watched.mkdir()
    supervisor.start(
        reloading(program("web", "import os, time; print(os.getpid(), flush=True); time.sleep(600)"), [watched])
    )
    log = tmp_path / "logs" / "web.log"

    def pids() -> list[int]:
        return [int(line) for line in last_lines(log, 100) if line.isdigit()]

    def has_started_anew() -> bool:
        (watched / "views.py").write_text(str(time.monotonic()))  # again, since the watch may begin after the program
        return len(set(pids())) > 1

    wait_until(pids)
    wait_until(has_started_anew)
    supervisor.stop()
    assert not any(psutil.pid_exists(pid) for pid in pids()), "neither the old one nor the new one is left"
