"""One stack for each state folder, and stopping the one that runs."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from devserver.lock import AlreadyRunning, StackLock, stop_running

_HOLDER = (
    "import signal, sys, time; from pathlib import Path; from devserver.lock import StackLock\n"
    "lock = StackLock(Path(sys.argv[1])); signal.signal(signal.SIGTERM, lambda *_: sys.exit())\n"
    "print('held', flush=True); time.sleep(60)"
)


def holder(pid_file: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", _HOLDER, str(pid_file)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_second_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    lock = StackLock(tmp_path / "up.pid")
    with pytest.raises(AlreadyRunning, match=str(os.getpid())):
        StackLock(tmp_path / "up.pid")
    lock.release()
    StackLock(tmp_path / "up.pid").release()


def test_a_killed_holder_leaves_nothing_locked(tmp_path: Path) -> None:
    with holder(tmp_path / "up.pid") as process:
        process.send_signal(signal.SIGKILL)
    StackLock(tmp_path / "up.pid").release()


def test_down_stops_the_holder(tmp_path: Path) -> None:
    with holder(tmp_path / "up.pid") as process:
        assert stop_running(tmp_path / "up.pid") is True
        assert process.wait(60) == 0


def test_down_without_a_holder(tmp_path: Path) -> None:
    assert stop_running(tmp_path / "up.pid") is False


def test_down_gives_up_on_a_holder_that_stays(tmp_path: Path) -> None:
    with holder(tmp_path / "up.pid") as process:
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(TimeoutError, match="did not stop"):
            stop_running(tmp_path / "up.pid", within_s=0.3)
        process.kill()
