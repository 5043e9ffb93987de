"""Checks of the self-test on a real host, each with its finding and its remedy.

Rates and sizes are reported as values that the control plane evaluates: it knows the GPU models and the market's
requirements.
"""

import platform
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from agents.daemon.control_plane.http_client import LinkError
from agents.daemon.control_plane.speed_test import NetSpeed, SpeedTestConnection, measure_net
from agents.daemon.engine.interface import EngineRefused, EngineSilent, Runtime
from agents.daemon.gpu.benchmark import BenchmarkAborted, BurnInFailed, BurnInResult, NotMeasurable, burn_in_gpu
from agents.daemon.gpu.cuda_burn_in import CHUNK, MIB
from agents.daemon.gpu.nvml import GpuProbe
from agents.daemon.self_test.disk_benchmark import DiskSpeed, NearlyFull, measure_disk
from agents.daemon.telemetry.host_facts import load_measurements, save_measurements
from agents.protocol.messages import Check, GpuFacts

# `docker run --gpus` came with 19.03, cgroups v2 with 20.10.
LEAST_ENGINE: Final = (20, 10)
# That of RHEL 8, the oldest for which NVIDIA's present drivers are built.
LEAST_KERNEL: Final = (4, 18)
GB: Final = 1000**3

Held = Callable[[], frozenset[str]]


@dataclass(frozen=True)
class CheckDependencies:
    """Dependencies of the checks."""

    runtime: Runtime
    probe: GpuProbe
    state: Path
    open_line: Callable[[], AbstractContextManager[SpeedTestConnection]]
    burn: Callable[[str, Callable[[], bool]], BurnInResult] = burn_in_gpu
    reach: Callable[[], Iterator[Check]] = lambda: iter(())


def host_checks(bench: CheckDependencies, held: Held) -> Iterator[Check]:
    """Yield all checks; GPUs in `held`, which instances have or are about to get, are left alone."""
    yield _engine(bench.runtime)
    yield _kernel()
    yield _root_limit(bench.runtime)
    yield from gpu_checks(bench, held)
    yield from _disk(bench.state)
    yield from _network(bench)
    yield from bench.reach()


def gpu_checks(bench: CheckDependencies, held: Held) -> Iterator[Check]:
    gpus = bench.probe.facts()
    yield _present(gpus)
    for gpu in gpus:
        yield from _one_gpu(bench, gpu, held)


def _engine(runtime: Runtime) -> Check:
    found = runtime.version()
    return Check(
        id="engine_version",
        passed=version_of(found) >= LEAST_ENGINE,
        actual=found,
        required=f"at least {_dotted(LEAST_ENGINE)}",
        remedy="Install a newer Docker Engine, then restart the agent.",
    )


def _kernel() -> Check:
    found = platform.release()
    return Check(
        id="kernel",
        passed=version_of(found) >= LEAST_KERNEL,
        actual=found,
        required=f"at least {_dotted(LEAST_KERNEL)}",
        remedy="Upgrade the operating system.",
    )


def _root_limit(runtime: Runtime) -> Check:
    """Check how this host limits what a renter writes outside of the data disk."""
    limited = runtime.root_limit() == "disk"
    return Check(
        id="root_limit",
        passed=limited,
        actual="a disk of fixed size for each root"
        if limited
        else "only watched: the engine does not let the agent limit it",
        required="a hard limit for each root",
        remedy="Use the engine's overlay2 driver, and run it in the same mount namespace as the agent.",
    )


def version_of(text: str) -> tuple[int, ...]:
    """Return (20, 10, 24) for "20.10.24+dfsg1"; an empty tuple for a text that starts with no number."""
    found = re.match(r"\d+(\.\d+)*", text)
    return tuple(map(int, found.group().split("."))) if found else ()


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _present(gpus: list[GpuFacts]) -> Check:
    fit = [gpu for gpu in gpus if gpu.healthy]
    broken = "; ".join(f"{gpu.uuid}: {gpu.detail}" for gpu in gpus if not gpu.healthy)
    return Check(
        id="gpu_present",
        passed=False if broken else None,  # only the control plane knows how many GPUs the host should have
        actual=broken or f"{len(fit)} found",
        value=float(len(fit)),
        required="every GPU answers",
        remedy="Look for Xid errors in `dmesg`, seat the GPU and its power anew, restart the machine.",
        simulated=any(gpu.simulated for gpu in gpus),
    )


def _one_gpu(bench: CheckDependencies, gpu: GpuFacts, held: Held) -> Iterator[Check]:
    names = ("gpu_exclusive", "gpu_memory", "gpu_compute")
    if gpu.simulated:
        yield from simulated_gpu(gpu, bench.probe.rated_tflops(gpu.uuid) or 0.0)
        return
    try:
        if gpu.uuid in {*held(), *bench.runtime.running_gpus()}:
            yield from (_of(gpu, name, reason="in_use", actual="An instance holds this GPU.") for name in names)
            return
        yield _exclusive(bench.probe, gpu)
        burnt = bench.burn(gpu.uuid, lambda: gpu.uuid in held())
    except BenchmarkAborted:
        yield from (
            _of(gpu, name, reason="in_use", actual="An instance was given this GPU meanwhile.") for name in names[1:]
        )
    except NotMeasurable as error:
        yield _of(gpu, "gpu_memory", value=float(gpu.vram_mb), unit="MiB", actual=f"{gpu.vram_mb} MiB, as NVML says")
        yield _by_nvml(bench.probe, gpu, str(error))
    except (BurnInFailed, EngineSilent, EngineRefused) as error:
        yield from (_of(gpu, name, reason="failed", passed=False, actual=str(error)) for name in names[1:])
    else:
        yield from _burn_in_checks(gpu, burnt)


def _of(gpu: GpuFacts, name: str, **rest: object) -> Check:
    return replace(Check(id=name, gpu=gpu.uuid), **rest)  # type: ignore[arg-type] # fields of Check


def _exclusive(probe: GpuProbe, gpu: GpuFacts) -> Check:
    others = probe.compute_processes(gpu.uuid)
    if others is None:
        return _of(gpu, "gpu_exclusive", reason="not_measurable", actual="NVML does not list this GPU's processes.")
    return _of(
        *(gpu, "gpu_exclusive"),
        passed=others == 0,
        value=float(others),
        actual=f"{others} programs of others",
        required="no program of others while no instance holds it",
        remedy="End what else computes on this GPU (`nvidia-smi` lists it); keep it off while the host is on the market.",
    )


def _by_nvml(probe: GpuProbe, gpu: GpuFacts, why: str) -> Check:
    """Return the finding without CUDA: the rate by cores and highest clock, marked as not measured."""
    rated = probe.rated_tflops(gpu.uuid)
    nominal = "no figure" if rated is None else f"{rated:.1f} TFLOPS nominal"
    return _of(
        *(gpu, "gpu_compute"),
        reason="not_measurable",
        actual=f"Not measured ({why}); by NVML's cores and clock: {nominal}",
        remedy="Install the driver's CUDA library (libcuda.so.1) next to NVML.",
    )


def _burn_in_checks(gpu: GpuFacts, burnt: BurnInResult) -> Iterator[Check]:
    whole = burnt.asked_mib - burnt.proven_mib < CHUNK // MIB  # less than one chunk is left over
    size = burnt.total_mib if whole else burnt.proven_mib
    proof = f"{size} MiB; {burnt.proven_mib} MiB written and read back"
    yield _of(gpu, "gpu_memory", passed=None if whole else False, value=float(size), unit="MiB", actual=proof)
    rate = f"{burnt.tflops:.1f} TFLOPS FP32" + ("" if burnt.correct else ", with wrong results")
    passed = None if burnt.correct else False
    yield _of(gpu, "gpu_compute", passed=passed, value=round(burnt.tflops, 2), unit="TFLOPS", actual=rate)


def simulated_gpu(gpu: GpuFacts, tflops: float) -> Iterator[Check]:
    """Yield plausible findings for a simulated GPU, marked as simulated."""
    made_up = replace(Check(id="", gpu=gpu.uuid, simulated=True), required="", unit="")
    none = "Simulated: no program of others"
    yield replace(made_up, id="gpu_exclusive", passed=True, value=0.0, actual=none)
    yield replace(made_up, id="gpu_memory", value=float(gpu.vram_mb), unit="MiB", actual=f"Simulated: {gpu.vram_mb} MiB")
    rate = round(tflops * 0.93, 2)
    yield replace(made_up, id="gpu_compute", value=rate, unit="TFLOPS", actual=f"Simulated: {rate:.1f} TFLOPS FP32")


def _disk(state: Path) -> Iterator[Check]:
    room = shutil.disk_usage(state)
    free = room.free / GB
    yield Check(id="disk_free", value=round(free, 1), unit="GB", actual=f"{free:.0f} GB of {room.total / GB:.0f} GB")
    names = ("disk_read", "disk_write", "disk_random_read", "disk_random_write")
    try:
        speed = measure_disk(state)
    except NearlyFull as error:
        yield from (Check(id=name, reason="disk_nearly_full", actual=str(error)) for name in names)
    except OSError as error:
        yield from (Check(id=name, passed=False, reason="failed", actual=str(error)) for name in names)
    else:
        save_disk_speed(state, speed)
        yield from disk_findings(speed)


def disk_findings(speed: DiskSpeed, *, simulated: bool = False) -> Iterator[Check]:
    how = "" if speed.direct else ", through the cache"
    mark = "Simulated: " if simulated else ""
    rows = (
        ("disk_read", speed.read_mbps, "MB/s"),
        ("disk_write", speed.write_mbps, "MB/s"),
        ("disk_random_read", speed.read_iops, "IOPS"),
        ("disk_random_write", speed.write_iops, "IOPS"),
    )
    for name, value, unit in rows:
        actual = f"{mark}{value:.0f} {unit}{how}"
        yield Check(id=name, value=round(value, 1), unit=unit, actual=actual, simulated=simulated)


def _network(bench: CheckDependencies) -> Iterator[Check]:
    try:
        with bench.open_line() as line:
            speed = measure_net(line)
    except LinkError as error:
        reason = "refused" if error.refused or error.retry_after_s else "failed"
        yield from (Check(id=name, reason=reason, actual=str(error)) for name in ("network_up", "network_down", "clock"))
    else:
        save_net_speed(bench.state, speed)
        yield from net_findings(speed)


def net_findings(speed: NetSpeed, *, simulated: bool = False) -> Iterator[Check]:
    mark = "Simulated: " if simulated else ""
    for name, value in (("network_up", speed.up_mbps), ("network_down", speed.down_mbps)):
        yield Check(id=name, value=round(value, 1), unit="Mbit/s", actual=f"{mark}{value:.0f} Mbit/s", simulated=simulated)
    offset = round(speed.clock_offset_s, 3)
    yield Check(id="clock", value=abs(offset), unit="s", actual=f"{mark}{offset:+.3f} s", simulated=simulated)


def save_disk_speed(state: Path, speed: DiskSpeed) -> None:
    values = {"disk_read_mbps": round(speed.read_mbps), "disk_write_mbps": round(speed.write_mbps)}
    save_measurements(state, replace(load_measurements(state), **values, disk_measured_at=int(time.time())))


def save_net_speed(state: Path, speed: NetSpeed) -> None:
    values = {"net_up_mbps": round(speed.up_mbps), "net_down_mbps": round(speed.down_mbps)}
    save_measurements(state, replace(load_measurements(state), **values, net_measured_at=int(time.time())))
