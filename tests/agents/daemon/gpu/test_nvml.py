"""The real NVML probe against a C stand-in of NVIDIA's library, and the simulated GPUs."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.gpu.nvml import SIMULATED_PREFIX, BadGpuList, NvmlProbe, SimulatedProbe, parse_gpu_list

UUIDS = [f"GPU-0000000{index}-aaaa-bbbb-cccc-dddddddddddd" for index in range(2)]
# The library is found by the loader's path, which a process reads once, at its start.
SCRIPT = """
import json, os, sys
from dataclasses import asdict
from agents.daemon.gpu.nvml import NvmlProbe
probe = NvmlProbe()
first = probe.facts()
os.environ.update(json.loads(sys.argv[1]))
import ctypes
for name, value in json.loads(sys.argv[1]).items():
    ctypes.CDLL(None).setenv(name.encode(), value.encode(), 1)
facts = [asdict(item) for item in probe.facts()]
asked = [[probe.compute_processes(item.uuid), probe.rated_tflops(item.uuid)] for item in first]
samples = [asdict(item) for item in probe.samples([item.uuid for item in first])]
print(json.dumps([probe.driver(), facts, samples, probe.nvlink(), asked]))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nvml")
    source = Path(__file__).with_name("fake_nvml.c")
    command = ["gcc", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(folder / "libnvidia-ml.so.1"), str(source)]
    subprocess.run(command, check=True)
    return folder


def probe(library: Path, env: dict[str, str] | None = None, later: dict[str, str] | None = None) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(later or {})],
        env={**os.environ, "LD_LIBRARY_PATH": str(library), **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_nvml_says_is_told(library: Path) -> None:
    driver, facts, samples, nvlink, calls = probe(library)
    assert driver == ["560.35.03", "12.6"]
    assert [item["uuid"] for item in facts] == UUIDS
    assert [(item["name"], item["vram_mb"]) for item in facts] == [("NVIDIA GeForce RTX 4090", 24564), ("Tesla T4", 15360)]
    assert [(item["pcie_gen"], item["pcie_width"], item["index"]) for item in facts] == [(4, 16, 0), (3, 16, 1)]
    assert all(item["healthy"] and not item["simulated"] for item in facts)
    assert samples[0] == {"uuid": UUIDS[0], "util_pct": 90, "vram_used_mb": 1000, "temperature_c": 71, "power_w": 410}
    assert samples[1]["power_w"] == 0, "not every GPU answers every question"
    assert nvlink is False, "neither GPU knows NVLink"
    assert calls[0] == [0, pytest.approx(82.575, abs=0.01)], "cores × 2 × clock"
    assert calls[1] == [0, None]


@pytest.mark.parametrize(("linked", "expected"), [("2", True), ("1", False), ("0", False)])
def test_nvlink_joins_every_gpu_or_none(library: Path, linked: str, expected: bool) -> None:
    assert probe(library, {"FAKE_NVML_NVLINK": linked})[3] is expected


def test_a_gpu_off_the_bus_says_nothing_of_nvlink(library: Path) -> None:
    _, _, _, nvlink, calls = probe(library, {"FAKE_NVML_NVLINK": "2"}, later={"FAKE_NVML_LOST": "1"})
    assert (nvlink, calls[1]) == (None, [None, None])


def test_programs_of_others_are_counted(library: Path) -> None:
    calls = probe(library, {"FAKE_NVML_PROCESSES": "3"})[4]
    assert [processes for processes, _ in calls] == [3, 0]


def test_fault_049_a_gpu_off_the_bus_is_the_same_gpu_and_unhealthy(library: Path) -> None:
    _, facts, samples, *_ = probe(library, later={"FAKE_NVML_LOST": "1"})
    assert [(item["uuid"], item["healthy"]) for item in facts] == [(UUIDS[0], True), (UUIDS[1], False)]
    assert facts[1]["detail"]
    assert [item["uuid"] for item in samples] == UUIDS[:1]


TROUBLES = {
    "remap": ("FAKE_NVML_REMAP", "1", "could not be remapped"),
    "pending": ("FAKE_NVML_PENDING", "1", "nvidia-smi --gpu-reset"),
    "retired": ("FAKE_NVML_RETIRED", "1", "waits to be retired"),
    "ecc": ("FAKE_NVML_ECC", "3", "3 memory errors"),
    "heat": ("FAKE_NVML_THROTTLE", "0x40", "slows down for heat"),
}


@pytest.mark.parametrize(("name", "value", "message"), TROUBLES.values(), ids=TROUBLES.keys())
def test_fault_051_a_gpu_in_trouble_is_unfit_until_that_is_over(library: Path, name: str, value: str, message: str) -> None:
    _, facts, samples, *_ = probe(library, later={name: value})
    assert [item["healthy"] for item in facts] == [True, False]
    assert message in facts[1]["detail"]
    assert len(samples) == 2, "whoever has it goes on"
    _, facts, *_ = probe(library, {name: value}, later={name: "0"} if name not in COUNTED else {})
    assert facts[1]["healthy"] == (name not in COUNTED), "a reset or cool air makes it fit again"


COUNTED = ("FAKE_NVML_REMAP", "FAKE_NVML_PENDING")  # of which the stand-in knows only that they are set


@pytest.mark.parametrize("why", ["0x1", "0x4", "0x20"], ids=["idle", "power-cap", "soft-thermal"])
def test_slower_clocks_without_danger_are_no_trouble(library: Path, why: str) -> None:
    assert all(item["healthy"] for item in probe(library, {"FAKE_NVML_THROTTLE": why})[1])


def test_fault_053_unknown_error_is_seen_at_the_next_look(library: Path) -> None:
    _, facts, samples, *_ = probe(library, later={"FAKE_NVML_LOST": "999"})
    assert [(item["uuid"], item["healthy"]) for item in facts] == [(UUIDS[0], True), (UUIDS[1], False)]
    assert facts[1]["detail"] == "Unknown Error"
    assert [item["uuid"] for item in samples] == UUIDS[:1]


def test_fault_056_a_gpu_that_its_owner_divides_is_not_rented_out(library: Path) -> None:
    _, facts, *_ = probe(library, later={"FAKE_NVML_MIG": "1"})
    assert [(item["uuid"], item["healthy"]) for item in facts] == [(UUIDS[0], True), (UUIDS[1], False)]
    assert "nvidia-smi -mig 0" in facts[1]["detail"]


@pytest.mark.parametrize("env", [{"FAKE_NVML_NO_DRIVER": "1"}, {"LD_LIBRARY_PATH": "/nowhere"}])
def test_a_machine_without_a_driver_has_no_gpus(library: Path, env: dict[str, str]) -> None:
    assert probe(library, env) == [["", ""], [], [], None, []]


def test_without_the_library_in_this_process() -> None:
    here = NvmlProbe()
    assert (here.facts(), here.driver(), here.samples(["GPU-1"])) == ([], ("", ""), [])
    assert (here.nvlink(), here.compute_processes("GPU-1"), here.rated_tflops("GPU-1")) == (None, None, None)


def test_simulated_gpus_are_the_same_at_every_start() -> None:
    first, again = (SimulatedProbe("RTX 4090:2,A100", "seed").facts() for _ in range(2))
    assert first == again
    assert [item.name for item in first] == ["NVIDIA GeForce RTX 4090"] * 2 + ["NVIDIA A100-SXM4-80GB"]
    assert all(item.simulated and item.uuid.startswith(SIMULATED_PREFIX) for item in first)
    assert len({item.uuid for item in first}) == 3
    other = SimulatedProbe("RTX 4090:2,A100", "other").facts()
    assert not {item.uuid for item in first} & {item.uuid for item in other}


@pytest.mark.parametrize(
    ("wanted", "linked"), [("A100:2", True), ("A100:1", False), ("A100:1,T4:1", False), ("RTX 4090:8", False)]
)
def test_simulated_nvlink_and_rates(wanted: str, linked: bool) -> None:
    made = SimulatedProbe(wanted, "seed")
    assert made.nvlink() is linked
    assert all((made.rated_tflops(gpu.uuid) or 0) > 0 and made.compute_processes(gpu.uuid) == 0 for gpu in made.facts())
    assert (made.rated_tflops("GPU-else"), made.compute_processes("GPU-else")) == (None, None)


def test_simulated_load_is_plausible() -> None:
    made = SimulatedProbe("Unheard Of:1", "seed")
    (gpu,) = made.facts()
    (sample,) = made.samples([gpu.uuid, "GPU-else"])
    assert 0 <= sample.util_pct <= 100
    assert 0 < sample.vram_used_mb <= gpu.vram_mb
    assert made.driver() == ("560.35.03", "12.6")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", []), ("RTX 4090:4", [("RTX 4090", 4)]), ("T4", [("T4", 1)]), (" A100 : 2 , T4:1", [("A100", 2), ("T4", 1)])],
)
def test_gpu_lists(text: str, expected: list[tuple[str, int]]) -> None:
    assert parse_gpu_list(text) == expected


@pytest.mark.parametrize("text", [":4", "RTX 4090:four", "RTX 4090:-1"])
def test_gpu_lists_that_are_none(text: str) -> None:
    with pytest.raises(BadGpuList):
        parse_gpu_list(text)
