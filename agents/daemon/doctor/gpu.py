"""Checks of NVIDIA's driver, and of how containers get GPUs."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pynvml

from agents.daemon.docker_engine.fitness import CGROUP_V2, EngineFacts, read_engine
from agents.daemon.doctor.findings import Finding, finding, ok
from agents.daemon.engine.interface import EngineRefused, EngineSilent
from agents.daemon.gpu.nvml import NvmlProbe

CDI_FOLDERS: Final = (Path("/etc/cdi"), Path("/var/run/cdi"))
DEV_CHAR: Final = Path("/dev/char")
NVIDIA_MAJOR: Final = "195:"
INSTALL_DRIVER: Final = "sudo apt-get install -y nvidia-driver (Debian) or sudo ubuntu-drivers install (Ubuntu), then reboot"
INSTALL_TOOLKIT: Final = (
    "sudo apt-get install -y nvidia-container-toolkit && sudo nvidia-ctk runtime configure --runtime=docker"
    " && sudo systemctl restart docker"
)
MAKE_LINKS: Final = "sudo nvidia-ctk system create-dev-char-symlinks --create-all"


def gpu_findings(*, simulated: bool) -> Iterator[Finding]:
    """Check the driver, each GPU, and whether containers see it, now and after systemd reloads."""
    if simulated:
        yield Finding(
            "driver", "warning", "the GPUs of this host are simulated", "For development only; enrol without simulated GPUs"
        )
        return
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        yield Finding("driver", "problem", f"NVML: {error}", INSTALL_DRIVER)
        return
    yield from _gpus(NvmlProbe())
    try:
        yield from _runtime_findings(read_engine())
    except (EngineSilent, EngineRefused):
        return  # reported already


def _gpus(probe: NvmlProbe) -> Iterator[Finding]:
    driver, cuda = probe.driver()
    gpus = probe.facts()
    broken = [gpu for gpu in gpus if not gpu.healthy]
    found = f"driver {driver}, CUDA {cuda}, {len(gpus)} GPUs"
    yield finding(
        "driver", "ok" if gpus else "problem", found, "sudo dmesg | grep -i nvrm; reseat the GPUs and their power cables"
    )
    for gpu in gpus:
        if gpu.detail:
            remedy = f"sudo nvidia-smi --gpu-reset -i {gpu.index}, while it is not in use"
            yield Finding("gpu", "problem" if gpu in broken else "warning", f"{gpu.uuid}: {gpu.detail}", remedy)


def _runtime_findings(engine: EngineFacts) -> Iterator[Finding]:
    hook = shutil.which("nvidia-container-runtime-hook") or shutil.which("nvidia-container-toolkit")
    there = "nvidia" in engine.runtimes or hook is not None
    found = (
        "NVIDIA container toolkit installed" if there else "no GPU access for containers: NVIDIA container toolkit missing"
    )
    yield finding("nvidia_runtime", "ok" if there else "problem", found, INSTALL_TOOLKIT)
    cdi = [str(path) for folder in CDI_FOLDERS for path in folder.glob("nvidia*")]
    if cdi:
        yield ok("cdi", cdi[0])
    if loses_gpus(engine) and not _has_links(DEV_CHAR):
        detail = "running containers lose their GPUs after systemctl daemon-reload (NVML: Unknown Error)"
        yield Finding("daemon_reload", "warning", detail, MAKE_LINKS)


def loses_gpus(engine: EngineFacts) -> bool:
    """Return whether systemd writes the device rules of containers.

    On a reload, it then revokes access to devices it does not manage.
    """
    return engine.cgroup == CGROUP_V2 and engine.cgroup_driver == "systemd"


def _has_links(folder: Path) -> bool:
    return any(folder.glob(f"{NVIDIA_MAJOR}*"))
