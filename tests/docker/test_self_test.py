"""The self-test of a host with a real engine: its version, a real disk, and real transfers to a running Berth."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stack.conftest import open_folder
from tests.stack.harness import Stack
from tests.stack.test_self_test import run_self_test

pytestmark = pytest.mark.docker
REAL = ("engine_version", "kernel", "disk_free", "disk_read", "disk_write", "disk_random_read", "disk_random_write")


@pytest.fixture
def stack(services: None, engine: Any) -> Iterator[Stack]:
    stack = Stack(open_folder())
    try:
        stack.start(jobs=False)
        gpus = ["--simulate-gpus", "RTX 4090:1"]
        stack.enrol("real", "--runtime", "docker", *gpus, "--ports", "30000-30999", "--listen", "127.0.0.1")
        yield stack
    finally:
        stack.stop()


def test_engine_disk_and_network_are_measured_and_the_gpus_alone_are_made_up(stack: Stack, engine: Any) -> None:
    with stack.client("hana") as hana:
        test, host = run_self_test(hana, "real")
    checks = {check["id"]: check for check in test["checks"]}
    for name in (*REAL, "network_up", "network_down", "clock"):
        assert not checks[name]["simulated"], name
        assert checks[name]["reason"] == "", checks[name]
    assert checks["engine_version"]["actual"] == engine.version()["Version"]
    assert checks["engine_version"]["passed"] is True
    assert min(checks[name]["value"] for name in ("disk_read", "disk_write", "network_up", "network_down")) > 1
    assert checks["clock"]["value"] < 5
    assert checks["ports"]["passed"] is True, checks["ports"]
    assert "reached from outside" in checks["ports"]["actual"]
    assert checks["udp_ports"]["passed"] is True, checks["udp_ports"]
    assert checks["gpu_compute"]["simulated"] is True
    assert test["simulated"] is True
    assert not list((stack.folder / "state-real").glob("speed-test*")), "the file of the disk test is gone"
    kept = Path(stack.folder / "state-real" / "measured.json")
    assert kept.exists()
    for name in (*REAL, "network_up", "network_down"):
        print(f"{name}: {checks[name]['actual']}")
    print(f"verdict {test['verdict']} in {test['seconds']} s, verification {host['verification']}")
