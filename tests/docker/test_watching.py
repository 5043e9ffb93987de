"""A program that the kernel ends for lack of memory is counted, though its container lives on."""

import time
from typing import Any

import docker
import pytest

from agents.daemon.docker_engine.cgroups import usage_of

pytestmark = pytest.mark.docker  # one engine, one firewall


def test_a_kill_for_lack_of_memory_is_counted(engine: Any, image: str) -> None:
    client = docker.from_env()
    made = client.containers.run(
        image, entrypoint=["sleep", "120"], detach=True, init=True, mem_limit="64m", memswap_limit="64m", network_mode="none"
    )
    try:
        made.reload()
        pid = made.attrs["State"]["Pid"]
        before = usage_of(pid)
        assert before is not None and before.oom_kills == 0
        made.exec_run(["sh", "-c", "tail /dev/zero"])
        deadline = time.monotonic() + 20
        while (now := usage_of(pid)) is not None and now.oom_kills == 0 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert now is not None and now.oom_kills >= 1
        made.reload()
        assert made.status == "running"
    finally:
        made.remove(force=True)
        client.close()
