"""The checks themselves: a real host's through its probe, engine, disk and line, and a simulated one's."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.control_plane.http_client import LinkError
from agents.daemon.control_plane.speed_test import Transfer
from agents.daemon.engine.interface import EngineSilent
from agents.daemon.engine.simulated import SimulatedRuntime
from agents.daemon.gpu.benchmark import BenchmarkAborted, BurnInFailed, BurnInResult, NotMeasurable
from agents.daemon.gpu.nvml import SimulatedProbe
from agents.daemon.self_test import checks, disk_benchmark
from agents.daemon.self_test.checks import CheckDependencies, host_checks, version_of
from agents.daemon.self_test.disk_benchmark import NearlyFull
from agents.daemon.self_test.simulated_checks import simulated_checks
from agents.daemon.telemetry.host_facts import Measurements, load_measurements
from agents.protocol.messages import Check, GpuFacts, GpuSample

GPUS = [GpuFacts(f"GPU-{n}", "NVIDIA GeForce RTX 4090", 24564, n) for n in range(2)]
GOOD = BurnInResult(tflops=80.0, correct=True, proven_mib=21_760, asked_mib=21_900, total_mib=24_100)


class Probe:
    """Two real GPUs."""

    simulated = False

    def __init__(self, gpus: list[GpuFacts], processes: int | None = 0) -> None:
        self.gpus, self.processes = gpus, processes

    def driver(self) -> tuple[str, str]:
        return "560.35.03", "12.6"

    def facts(self) -> list[GpuFacts]:
        return self.gpus

    def samples(self, uuids: Iterable[str]) -> list[GpuSample]:
        return []

    def nvlink(self) -> bool | None:
        return False

    def compute_processes(self, uuid: str) -> int | None:
        return self.processes

    def rated_tflops(self, uuid: str) -> float | None:
        return 82.6


class Engine(SimulatedRuntime):
    """An engine of a chosen version, some of whose GPUs are taken."""

    found = "20.10.24+dfsg1"
    taken: frozenset[str] = frozenset()
    silent = False

    def version(self) -> str:
        return self.found

    def running_gpus(self) -> dict[str, str]:
        if self.silent:
            raise EngineSilent("no answer")
        return dict.fromkeys(self.taken, "instance")


class Line:
    """100 Mbit/s up and down, and a clock that is three seconds ahead."""

    def upload(self, size: int) -> Transfer:
        return Transfer(size * 8 / 1e8, -3.0)

    download = upload


@contextmanager
def good_line() -> Iterator[Line]:
    yield Line()


def broken_line(error: LinkError) -> Callable[[], Any]:
    @contextmanager
    def line() -> Iterator[Line]:
        raise error
        yield Line()

    return line


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_benchmark, "RANDOM_SECONDS", 0.05)
    monkeypatch.setattr(checks, "measure_disk", lambda state: disk_benchmark.measure_disk(state, size=disk_benchmark.BLOCK))


@pytest.fixture
def bench(tmp_path: Path) -> CheckDependencies:
    return CheckDependencies(Engine(tmp_path / "s", boot="b"), Probe(GPUS), tmp_path, good_line, lambda uuid, needed: GOOD)


def nobody() -> frozenset[str]:
    return frozenset()


def run(bench: CheckDependencies, held: Callable[[], frozenset[str]] = nobody) -> dict[tuple[str, str], Check]:
    made = list(host_checks(bench, held))
    found = {(check.id, check.gpu): check for check in made}
    assert len(found) == len(made), "no check twice"
    return found


def test_a_host_in_order(bench: CheckDependencies) -> None:
    found = run(bench)
    assert not [check for check in found.values() if check.passed is False or check.simulated or check.reason]
    assert found["engine_version", ""].passed is True
    assert found["kernel", ""].passed is True
    assert found["gpu_present", ""].value == 2
    for gpu in GPUS:
        assert found["gpu_exclusive", gpu.uuid].passed is True
        assert (found["gpu_memory", gpu.uuid].value, found["gpu_memory", gpu.uuid].unit) == (24_100, "MiB")
        assert (found["gpu_compute", gpu.uuid].value, found["gpu_compute", gpu.uuid].unit) == (80, "TFLOPS")
        assert found["gpu_compute", gpu.uuid].passed is None, "the control plane knows the model"
    assert found["network_up", ""].value == pytest.approx(100)
    assert found["clock", ""].value == 3
    assert found["disk_free", ""].value
    assert all(found[name, ""].value for name in ("disk_read", "disk_write", "disk_random_read", "disk_random_write"))
    assert all(check.actual for check in found.values()), "every check says what it found"


def test_what_was_measured_is_kept_for_the_facts(bench: CheckDependencies) -> None:
    assert load_measurements(bench.state) == Measurements()
    found = run(bench)
    kept = load_measurements(bench.state)
    assert (kept.net_up_mbps, kept.net_down_mbps) == (100, 100)
    assert kept.disk_read_mbps == pytest.approx(found["disk_read", ""].value, abs=1)
    assert kept.disk_measured_at
    assert kept.net_measured_at


@pytest.mark.parametrize(("text", "passed"), [("19.03.15", False), ("20.10.0", True), ("27.1.1", True), ("unknown", False)])
def test_the_engine_has_a_floor(bench: CheckDependencies, text: str, passed: bool) -> None:
    bench.runtime.found = text  # type: ignore[attr-defined]  # the stand-in's
    check = run(bench)["engine_version", ""]
    assert (check.passed, check.actual, check.required) == (passed, text, "at least 20.10")
    assert "Docker" in check.remedy


def test_versions() -> None:
    assert version_of("6.1.0-18-amd64") == (6, 1, 0)
    assert version_of("4.18.0-553.el8") > (4, 18)
    assert version_of("4.9.0") < (4, 18)
    assert version_of("") == ()


def test_a_gpu_off_the_bus_is_named(bench: CheckDependencies) -> None:
    lost = [GPUS[0], replace(GPUS[1], healthy=False, detail="GPU is lost")]
    check = run(replace(bench, probe=Probe(lost)))["gpu_present", ""]
    assert (check.passed, check.value) == (False, 1)
    assert "GPU-1: GPU is lost" in check.actual


def test_no_gpu_at_all(bench: CheckDependencies) -> None:
    found = run(replace(bench, probe=Probe([])))
    assert found["gpu_present", ""].value == 0
    assert not [key for key in found if key[1]]


def test_a_program_of_others_on_a_gpu(bench: CheckDependencies) -> None:
    check = run(replace(bench, probe=Probe(GPUS, processes=2)))["gpu_exclusive", "GPU-0"]
    assert (check.passed, check.value) == (False, 2)
    assert check.remedy


def test_processes_that_cannot_be_listed(bench: CheckDependencies) -> None:
    check = run(replace(bench, probe=Probe(GPUS, processes=None)))["gpu_exclusive", "GPU-0"]
    assert (check.passed, check.reason) == (None, "not_measurable")


@pytest.mark.parametrize("who", ["engine", "desired"])
def test_a_gpu_that_an_instance_holds_is_left_in_peace(bench: CheckDependencies, who: str) -> None:
    burnt: list[str] = []

    def burn(uuid: str, needed: Callable[[], bool]) -> BurnInResult:
        burnt.append(uuid)
        return GOOD

    if who == "engine":
        bench.runtime.taken = frozenset({"GPU-0"})  # type: ignore[attr-defined]  # the stand-in's
    held = (lambda: frozenset({"GPU-0"})) if who == "desired" else nobody
    found = run(replace(bench, burn=burn), held)
    assert burnt == ["GPU-1"]
    for name in ("gpu_exclusive", "gpu_memory", "gpu_compute"):
        assert (found[name, "GPU-0"].reason, found[name, "GPU-0"].passed) == ("in_use", None)
        assert found[name, "GPU-1"].reason == ""


def test_a_gpu_that_is_rented_during_the_burn(bench: CheckDependencies) -> None:
    def burn(uuid: str, needed: Callable[[], bool]) -> BurnInResult:
        raise BenchmarkAborted

    found = run(replace(bench, burn=burn))
    assert found["gpu_exclusive", "GPU-0"].passed is True
    assert found["gpu_compute", "GPU-0"].reason == "in_use"


def test_without_cuda_nvml_alone_says_that_nothing_was_measured(bench: CheckDependencies) -> None:
    def burn(uuid: str, needed: Callable[[], bool]) -> BurnInResult:
        raise NotMeasurable("libcuda.so.1 cannot be loaded")

    found = run(replace(bench, burn=burn))
    check = found["gpu_compute", "GPU-0"]
    assert (check.passed, check.value, check.reason) == (None, None, "not_measurable")
    assert "Not measured" in check.actual
    assert "82.6 TFLOPS nominal" in check.actual
    assert (found["gpu_memory", "GPU-0"].value, found["gpu_memory", "GPU-0"].passed) == (24564, None)


@pytest.mark.parametrize("error", [BurnInFailed("the GPU did not finish in time"), EngineSilent("gone")])
def test_a_burn_that_breaks_off_is_no_pass(bench: CheckDependencies, error: Exception) -> None:
    def burn(uuid: str, needed: Callable[[], bool]) -> BurnInResult:
        raise error

    check = run(replace(bench, burn=burn))["gpu_compute", "GPU-0"]
    assert (check.passed, check.reason, check.actual) == (False, "failed", str(error))


def test_an_engine_that_does_not_answer_leaves_every_gpu_in_peace(bench: CheckDependencies) -> None:
    bench.runtime.silent = True  # type: ignore[attr-defined]  # the stand-in's
    found = run(replace(bench, burn=lambda uuid, needed: pytest.fail("burnt")))
    assert found["gpu_compute", "GPU-0"].reason == "failed"


def test_less_memory_than_the_gpu_says(bench: CheckDependencies) -> None:
    short = replace(GOOD, proven_mib=4096)
    check = run(replace(bench, burn=lambda uuid, needed: short))["gpu_memory", "GPU-0"]
    assert (check.passed, check.value) == (False, 4096)


def test_wrong_results(bench: CheckDependencies) -> None:
    check = run(replace(bench, burn=lambda uuid, needed: replace(GOOD, correct=False)))["gpu_compute", "GPU-0"]
    assert check.passed is False
    assert "wrong results" in check.actual


def test_simulated_gpus_of_a_real_engine_say_so(bench: CheckDependencies) -> None:
    """Development: real containers, GPUs that do not exist."""
    found = run(replace(bench, probe=SimulatedProbe("RTX 4090:1", "seed")))
    for (name, gpu), check in found.items():
        assert check.simulated == bool(gpu or name == "gpu_present")
        assert check.actual.startswith("Simulated: ") == bool(gpu)


def test_a_disk_that_is_nearly_full_is_not_written_to(bench: CheckDependencies, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(state: Path) -> None:
        raise NearlyFull("1 GB of 100 GB are free")

    monkeypatch.setattr(checks, "measure_disk", full)
    check = run(bench)["disk_read", ""]
    assert (check.passed, check.reason, check.value) == (None, "disk_nearly_full", None)
    assert load_measurements(bench.state).disk_measured_at is None


def test_a_disk_that_fails(bench: CheckDependencies, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(state: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(checks, "measure_disk", broken)
    check = run(bench)["disk_write", ""]
    assert (check.passed, check.reason) == (False, "failed")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (LinkError("429", retry_after_s=600), "refused"),
        (LinkError("401", refused=True), "refused"),
        (LinkError("x"), "failed"),
    ],
)
def test_a_speed_test_that_does_not_come_off(bench: CheckDependencies, error: LinkError, reason: str) -> None:
    found = run(replace(bench, open_line=broken_line(error)))
    assert {found[name, ""].reason for name in ("network_up", "network_down", "clock")} == {reason}
    assert load_measurements(bench.state).net_measured_at is None


def test_a_simulated_host_says_that_everything_is_made_up(tmp_path: Path) -> None:
    runtime, probe = SimulatedRuntime(tmp_path / "s", boot="b"), SimulatedProbe("RTX 4090:2", "seed")
    first, again = (list(simulated_checks(runtime, probe, tmp_path, "seed")) for _ in range(2))
    assert all(check.simulated and check.actual.startswith("Simulated: ") for check in first)
    assert [check.id for check in first] == [check.id for check in again]
    for one, other in zip(first, again, strict=True):
        assert one.value is other.value is None or one.value == pytest.approx(other.value, rel=0.2), (
            "the same host is about as fast every time"
        )
    kept = load_measurements(tmp_path)
    assert kept.disk_read_mbps
    assert kept.net_up_mbps
    assert kept.disk_measured_at


def test_a_simulated_host_is_tested_in_the_same_points_as_a_real_one(bench: CheckDependencies, tmp_path: Path) -> None:
    runtime, probe = SimulatedRuntime(tmp_path / "s", boot="b"), SimulatedProbe("RTX 4090:2", "seed")
    made_up = {check.id for check in simulated_checks(runtime, probe, tmp_path, "seed")}
    assert made_up == {name for name, _ in run(bench)}
