"""Self-test of a simulated host: plausible findings, each marked as simulated."""

import random
from collections.abc import Iterator
from pathlib import Path

from agents.daemon.control_plane.speed_test import NetSpeed
from agents.daemon.engine.interface import Runtime
from agents.daemon.gpu.nvml import GpuProbe
from agents.daemon.self_test.checks import disk_findings, net_findings, save_disk_speed, save_net_speed, simulated_gpu
from agents.daemon.self_test.disk_benchmark import DiskSpeed
from agents.daemon.telemetry.host_facts import SIMULATED_DISK_GB
from agents.protocol.messages import Check

_NOISE = 0.04  # relative difference between two runs of the same host


def simulated_checks(runtime: Runtime, probe: GpuProbe, state: Path, seed: str) -> Iterator[Check]:
    """Yield the checks; the same host gets similar results at every run."""
    gpus = probe.facts()
    yield _made_up("engine_version", runtime.version())
    yield _made_up("kernel", "a kernel that is new enough")
    yield _made_up("root_limit", "a disk of fixed size for each root")
    yield Check(id="gpu_present", value=float(len(gpus)), actual=f"Simulated: {len(gpus)} found", simulated=True)
    for gpu in gpus:
        yield from simulated_gpu(gpu, (probe.rated_tflops(gpu.uuid) or 0.0) * _noise())
    free = float(SIMULATED_DISK_GB)
    yield Check(id="disk_free", value=free, unit="GB", actual=f"Simulated: {free:.0f} GB", simulated=True)
    host = random.Random(seed)  # noqa: S311 made-up figures, no secret
    read, share, up = host.uniform(1200, 6800), host.uniform(0.55, 0.9), host.choice((200, 500, 1000, 2500))
    disk = DiskSpeed(read * _noise(), read * share * _noise(), read * 3, read * 9, direct=True)
    save_disk_speed(state, disk)
    yield from disk_findings(disk, simulated=True)
    net = NetSpeed(up * host.uniform(0.5, 0.95) * _noise(), up * 0.95 * _noise(), 0.0)
    save_net_speed(state, net)
    yield from net_findings(net, simulated=True)


def _made_up(name: str, found: str) -> Check:
    return Check(id=name, passed=True, actual=f"Simulated: {found}", simulated=True)


def _noise() -> float:
    return random.uniform(1 - _NOISE, 1 + _NOISE)  # noqa: S311 made-up figures, no secret
