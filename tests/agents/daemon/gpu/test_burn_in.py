"""The burn program and its supervisor: the real ctypes calls against a C stand-in of NVIDIA's driver library.

What the stand-in cannot show is whether NVIDIA's own compiler takes the PTX; `ptxas` did, for sm_50 to sm_120, when it was
written, and the test below keeps its text to what was assembled then.
"""

import hashlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agents.daemon.gpu import cuda_burn_in
from agents.daemon.gpu.benchmark import BenchmarkAborted, BurnInFailed, NotMeasurable, burn_in_gpu, wipe_gpu

GPU = "GPU-00000000-aaaa-bbbb-cccc-dddddddddddd"
# Of the text that ptxas 12.9 assembled for sm_50, 60, 61, 70, 75, 80, 86, 89, 90, 100 and 120, and ptxas 13.5 for 75 to 120.
ASSEMBLED = "302e707e1e6490a5c169aa8d6e6487070785e186dbea4ac1440c908239e285ba"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cuda")
    source = Path(__file__).with_name("fake_cuda.c")
    subprocess.run(
        ["gcc", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(folder / "libcuda.so.1"), str(source)], check=True
    )
    return folder


@pytest.fixture(autouse=True)
def loader_path(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library))


def never() -> bool:
    return False


@pytest.mark.parametrize("tflops", [2.0, 20.0])
def test_rate_and_memory_are_measured(monkeypatch: pytest.MonkeyPatch, tflops: float) -> None:
    monkeypatch.setenv("FAKE_CUDA_TFLOPS", str(tflops))
    begun = time.monotonic()
    found = burn_in_gpu(GPU, never)
    assert found.tflops == pytest.approx(tflops, rel=0.1)
    assert found.correct
    assert (found.proven_mib, found.total_mib) == (3328, 4096)
    assert 0 <= found.asked_mib - found.proven_mib < cuda_burn_in.CHUNK // cuda_burn_in.MIB
    assert time.monotonic() - begun < 10


def test_a_gpu_that_reckons_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CUDA_WRONG", "1")
    assert not burn_in_gpu(GPU, never).correct


def test_memory_that_is_not_there_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forged card says 4 GiB and wraps around after 1 GiB: the first marks are overwritten."""
    monkeypatch.setenv("FAKE_CUDA_MIB", "1024")
    assert burn_in_gpu(GPU, never).proven_mib == 1024


def test_memory_that_is_refused_is_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CUDA_SMALL", "1")
    assert burn_in_gpu(GPU, never).proven_mib == 1024


def test_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CUDA_NONE", "1")
    with pytest.raises(NotMeasurable, match="no CUDA-capable device"):
        burn_in_gpu(GPU, never)


def test_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/nowhere")
    with pytest.raises(NotMeasurable, match=r"libcuda\.so\.1"):
        burn_in_gpu(GPU, never)


def test_a_gpu_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CUDA_HANG", "1")
    with pytest.raises(BurnInFailed, match="in time"):
        burn_in_gpu(GPU, never, deadline_s=1.0)


def test_an_instance_that_needs_the_gpu_ends_the_burn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CUDA_HANG", "1")
    begun = time.monotonic()
    with pytest.raises(BenchmarkAborted):
        burn_in_gpu(GPU, lambda: time.monotonic() - begun > 0.3)
    assert time.monotonic() - begun < 5


def test_a_program_that_crashes_takes_nothing_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_bytes(b"no library")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    with pytest.raises((NotMeasurable, BurnInFailed)):
        burn_in_gpu(GPU, never)


def test_the_kernel_is_the_one_that_was_assembled() -> None:
    text = cuda_burn_in.kernel_text()
    assert hashlib.sha256(text.encode()).hexdigest() == ASSEMBLED, "assemble it with ptxas for every architecture again"
    assert len(re.findall(r"^fma\.rn\.f32", text, re.MULTILINE)) * 2 == cuda_burn_in.FLOPS_PER_ROUND


SCRIPT = """
import json, sys
from dataclasses import asdict
from pathlib import Path
from agents.daemon.self_test.checks import CheckDependencies, gpu_checks
from agents.daemon.gpu.nvml import NvmlProbe
from agents.daemon.engine.simulated import SimulatedRuntime
folder = Path(sys.argv[1])
bench = CheckDependencies(SimulatedRuntime(folder / "engine.json"), NvmlProbe(), folder, lambda: None)
print(json.dumps([asdict(check) for check in gpu_checks(bench, lambda: frozenset())]))
"""


def test_probe_and_burn_together(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NVML and CUDA as on a host with two GPUs, but for the libraries themselves."""
    source = Path(__file__).with_name("fake_nvml.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(tmp_path / "libnvidia-ml.so.1"), str(source)], check=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{library}:{tmp_path}")
    monkeypatch.setenv("FAKE_NVML_PROCESSES", "1")
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {(check["id"], check["gpu"]): check for check in json.loads(done.stdout)}
    assert found["gpu_present", ""]["value"] == 2
    first, second = (f"GPU-0000000{index}-aaaa-bbbb-cccc-dddddddddddd" for index in range(2))
    assert found["gpu_exclusive", first]["passed"] is False
    assert found["gpu_exclusive", second]["passed"] is True
    for gpu in (first, second):
        assert found["gpu_compute", gpu]["value"] == pytest.approx(5.0, rel=0.1)
        assert found["gpu_memory", gpu]["value"] == 4096
        assert not found["gpu_compute", gpu]["simulated"]


def test_fault_055_all_that_is_free_is_overwritten_and_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CUDA_RESIDUE", "1")
    assert wipe_gpu(GPU) == 4096
    monkeypatch.setenv("FAKE_CUDA_STUCK", "1")
    with pytest.raises(BurnInFailed, match="does not read as zeros"):
        wipe_gpu(GPU)
    monkeypatch.setenv("FAKE_CUDA_NONE", "1")
    with pytest.raises(NotMeasurable):
        wipe_gpu(GPU)
