"""Use of a container from the kernel's files, of both generations."""

import os
import time
from pathlib import Path

from agents.daemon.docker_engine.cgroups import age_of, usage_of
from agents.daemon.engine.interface import Usage

DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0
  eth0: 1000 1 0 0 0 0 0 0 250 1 0 0 0 0 0 0
"""
MIB = 1024**2


def _write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_version_1(tmp_path: Path) -> None:
    _write(tmp_path / "proc/7", {"net/dev": DEV, "cgroup": "4:memory:/docker/c\n3:cpu,cpuacct:/docker/c\n0::/docker/c\n"})
    _write(
        tmp_path / "sys",
        {
            "memory/docker/c/memory.usage_in_bytes": str(300 * MIB),
            "memory/docker/c/memory.stat": f"cache 1\ntotal_inactive_file {100 * MIB}\n",
            "memory/docker/c/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
            "cpuacct/docker/c/cpuacct.usage": "5000\n",
        },
    )
    assert usage_of(7, root=tmp_path / "sys", proc=tmp_path / "proc") == Usage(5000, 200, 1000, 250, oom_kills=3)


def test_version_2(tmp_path: Path) -> None:
    _write(tmp_path / "proc/7", {"net/dev": DEV, "cgroup": "0::/system.slice/docker-c.scope\n"})
    _write(
        tmp_path / "sys/system.slice/docker-c.scope",
        {
            "memory.current": str(300 * MIB),
            "memory.stat": f"anon 1\ninactive_file {50 * MIB}\n",
            "memory.events": "low 0\noom 2\noom_kill 1\noom_group_kill 0\n",
            "cpu.stat": "usage_usec 7\nuser_usec 1\n",
        },
    )
    assert usage_of(7, root=tmp_path / "sys", proc=tmp_path / "proc") == Usage(7000, 250, 1000, 250, oom_kills=1)


def test_open_ssh_connections_are_counted_and_no_others(tmp_path: Path) -> None:
    head = "  sl  local_address rem_address   st tx_queue rx_queue\n"
    listens = "   0: 00000000:0016 00000000:0000 0A 00000000:00000000\n"
    comes_in = "   1: 020011AC:0016 010011AC:C350 01 00000000:00000000\n"
    goes_out = "   2: 020011AC:C351 050011AC:0016 01 00000000:00000000\n"
    has_ended = "   3: 020011AC:0016 010011AC:C352 06 00000000:00000000\n"
    six = "   0: 0000000000000000FFFF0000020011AC:0016 0000000000000000FFFF0000010011AC:D431 01 00000000:00000000\n"
    files = {"net/tcp": head + listens + comes_in + goes_out + has_ended, "net/tcp6": head + six}
    _write(tmp_path / "proc/7", {"net/dev": DEV, "cgroup": "0::/c\n", **files})
    _write(tmp_path / "sys/c", {"memory.current": "0", "memory.stat": "inactive_file 0\n", "cpu.stat": "usage_usec 7\n"})
    found = usage_of(7, root=tmp_path / "sys", proc=tmp_path / "proc")
    assert found is not None
    assert found.sessions == 2


def test_a_process_that_has_ended() -> None:
    assert usage_of(2**22 + 1) is None
    assert age_of(2**22 + 1) == 0.0


def test_the_age_is_of_the_kernels_clock() -> None:
    first = age_of(os.getpid())
    time.sleep(0.05)
    assert 0 < first < age_of(os.getpid()) < 10_000
