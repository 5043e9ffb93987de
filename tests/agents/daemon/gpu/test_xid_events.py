"""Errors of GPUs from NVIDIA's library (a C stand-in of it) to the report; use second by second."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.disks.loop_disks import SimulatedDisks
from agents.daemon.engine.interface import Container, Usage
from agents.daemon.engine.simulated import SimulatedRuntime
from agents.daemon.gpu.nvml import SimulatedProbe
from agents.daemon.gpu.xid_events import GpuEvents
from agents.daemon.telemetry.per_second import KEPT, PerSecondSampler
from agents.daemon.telemetry.sampler import Telemetry
from agents.protocol.messages import GpuFacts, HostFacts, ObservedInstance
from agents.protocol.telemetry_messages import GpuEvent

ID = "a" * 32
SCRIPT = """
import json, sys, threading
from agents.daemon.gpu.xid_events import GpuEvents, watch_nvml
events, stopped, rung = GpuEvents(), threading.Event(), []
def rang():
    rung.append(1)
    if len(rung) == 3: stopped.set()
watch_nvml(events, rang, stopped)
told = [[e.uuid, e.xid, e.count] for e in events.unreported()]
print(json.dumps([*told, events.why_unfit("GPU-00000001-aaaa-bbbb-cccc-dddddddddddd")]))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nvml")
    source = Path(__file__).with_name("fake_nvml.c")
    command = ["gcc", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(folder / "libnvidia-ml.so.1"), str(source)]
    subprocess.run(command, check=True)
    return folder


def listen(library: Path, **env: str) -> Any:
    wanted = {**os.environ, "LD_LIBRARY_PATH": str(library), **env}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=wanted, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_the_driver_writes_down_is_told_with_its_gpu(library: Path) -> None:
    """The second GPU does not answer any more when the third message comes: its identity is known from before."""
    heard = listen(library, FAKE_NVML_XIDS="0:31,0:31,1:79")
    assert heard[:2] == [
        ["GPU-00000000-aaaa-bbbb-cccc-dddddddddddd", 31, 2],
        ["GPU-00000001-aaaa-bbbb-cccc-dddddddddddd", 79, 1],
    ]
    assert heard[2].startswith("Xid 79")


def test_without_a_driver_nobody_listens(library: Path) -> None:
    assert listen(library, FAKE_NVML_NO_DRIVER="1") == [""]


def test_events_are_told_until_they_have_arrived() -> None:
    events = GpuEvents()
    events.record("GPU-1", 31)
    events.record("GPU-1", 31)
    assert events.unreported() == [GpuEvent("GPU-1", 31, 2)]
    events.record("GPU-1", 31)  # while the report is on its way
    events.keep()
    assert events.unreported() == [GpuEvent("GPU-1", 31, 1)]
    assert events.unreported() == [GpuEvent("GPU-1", 31, 1)], "that report was lost"
    events.keep()
    assert events.unreported() == []
    assert events.why_unfit("GPU-1") == "", "a program's error makes no GPU unfit"


def test_fault_049_a_gpu_off_the_bus_fails_who_runs_on_it_and_is_not_rented_again() -> None:
    """Fault 49. Another instance on the same host goes on."""
    telemetry = Telemetry(Meter(), SimulatedDisks(), SimulatedProbe("", "s"))
    telemetry.gpu_events.record("GPU-1", 79)
    rows = [ObservedInstance(ID, 1, "running", ["GPU-1"]), ObservedInstance("b" * 32, 1, "running", ["GPU-2"])]
    lost, sound = telemetry.gpu_events.judged(rows)
    assert (lost.phase, lost.failure_code) == ("failed", "gpu_lost")
    assert sound == rows[1]
    stopping = [ObservedInstance(ID, 1, "stopping", ["GPU-1"])]
    assert telemetry.gpu_events.judged(stopping) == stopping
    gpus = [GpuFacts("GPU-1", "Tesla T4", 15360), GpuFacts("GPU-2", "Tesla T4", 15360)]
    facts = HostFacts("h", "docker", "1", "6", "c", 1, 1, 1, 1, "nvme", "1", "12.4", gpus=gpus)
    assert [gpu.healthy for gpu in telemetry.facts(facts).gpus] == [False, True]


# -- seconds


class Meter(SimulatedRuntime):
    """A container that uses half a core, and more memory each second."""

    def __init__(self) -> None:
        self.now = 0.0

    def usage(self, container: Container) -> Usage | None:
        return Usage(int(self.now * 5 * 10**8), 100 + int(self.now), 0, 0)


def test_seconds_are_told_until_they_have_arrived_and_no_longer_than_a_minute() -> None:
    meter = Meter()
    probe = SimulatedProbe("T4:2", "s")
    seconds = PerSecondSampler(meter, probe, lambda: meter.now)
    seconds._begun = True  # the looks are this test's own
    uuids = tuple(gpu.uuid for gpu in probe.facts())
    box = Container("c", ID, 1, "running", "s", uuids, "t1", run_seconds=1.0)

    def pass_seconds(count: int) -> None:
        for _ in range(count):
            meter.now += 1
            seconds.look()

    seconds.set_running([box])
    pass_seconds(1)
    assert seconds.trace(ID) is None, "a rate needs two looks"
    pass_seconds(5)
    first = seconds.trace(ID)
    assert first is not None
    assert (first.cpu, first.ram) == ([50] * 5, [102, 103, 104, 105, 106])
    assert {len(series) for series in vars(first).values()} == {5}
    pass_seconds(2)
    seconds.keep()  # what came since was not in that report
    rest = seconds.trace(ID)
    assert rest is not None and rest.ram == [107, 108]
    pass_seconds(KEPT + 10)
    seconds.keep()
    whole = seconds.trace(ID)
    assert whole is not None and len(whole.ram) == KEPT and whole.ram[-1] == 100 + int(meter.now)
    seconds.set_running([])
    assert seconds.trace(ID) is None
