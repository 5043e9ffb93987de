"""Check of the container engine's features against the promises that are made to renters."""

from dataclasses import dataclass
from typing import Any, Final

from agents.daemon.docker_engine.errors import open_engine

CGROUP_V2: Final = "2"


class EngineUnfit(Exception):
    """A promise to renters cannot be kept with this engine; the text says which, and what to do."""


@dataclass(frozen=True)
class EngineFacts:
    """Features of an engine as it reports them."""

    version: str
    podman: bool
    rootless: bool
    userns: bool
    cgroup: str
    cgroup_driver: str
    memory_limit: bool
    swap_limit: bool
    cpu_limit: bool
    pids_limit: bool
    driver: str
    root: str
    runtimes: tuple[str, ...]
    cdi: tuple[str, ...]


def read_engine() -> EngineFacts:
    """Query the engine's features.

    Raises:
        EngineSilent: The engine does not answer.
        EngineRefused: The engine refuses the query.
    """
    with open_engine() as client:
        return engine_facts(client.info(), client.version())


def engine_facts(info: dict[str, Any], version: dict[str, Any]) -> EngineFacts:
    """Convert the engine's answers.

    Podman has the same API but leaves out what it does not know, so that missing limits count as supported.
    """
    security = [str(item) for item in info.get("SecurityOptions") or []]
    components = [str(item.get("Name", "")) for item in version.get("Components") or []]
    return EngineFacts(
        version=str(version.get("Version", "")),
        podman=any("podman" in name.lower() for name in components),
        rootless=any(item.startswith("name=rootless") for item in security) or bool(info.get("Rootless")),
        userns=any(item.startswith("name=userns") for item in security),
        cgroup=str(info.get("CgroupVersion") or "1"),
        cgroup_driver=str(info.get("CgroupDriver") or ""),
        memory_limit=bool(info.get("MemoryLimit", True)),
        swap_limit=bool(info.get("SwapLimit", True)),
        cpu_limit=bool(info.get("CpuCfsQuota", True)),
        pids_limit=bool(info.get("PidsLimit", True)),
        driver=str(info.get("Driver") or ""),
        root=str(info.get("DockerRootDir") or ""),
        runtimes=tuple(sorted(info.get("Runtimes") or {})),
        cdi=tuple(info.get("CDISpecDirs") or ()),
    )


def broken_promises(found: EngineFacts) -> list[tuple[str, str]]:
    """Return (broken promise, remedy) pairs, the most serious first; empty if the engine can keep all."""
    rows = [
        (
            found.podman,
            "Podman: the firewall that keeps instances from each other and from this network has no place in it, and it does"
            " not tell who ended a container",
            "Install Docker Engine 20.10 or later and stop Podman's socket: systemctl disable --now podman.socket",
        ),
        (
            found.rootless,
            "A rootless engine: it sees no disk that the agent mounts, so no disk of a renter has its size, and no firewall"
            " keeps instances from each other",
            "Run the engine as root: dockerd-rootless-setuptool.sh uninstall && sudo systemctl enable --now docker",
        ),
        (
            not found.memory_limit,
            f"cgroup v{found.cgroup} without its memory controller: one instance could take the memory of all others",
            _controllers(found, "cgroup_enable=memory swapaccount=1"),
        ),
        (
            not found.cpu_limit,
            f"cgroup v{found.cgroup} without CPU quotas: one instance could take the CPU of all others",
            _controllers(found, ""),
        ),
        (
            not found.pids_limit,
            f"cgroup v{found.cgroup} without its pids controller: one instance could start programs until nothing runs",
            _controllers(found, ""),
        ),
    ]
    return [(promise, remedy) for broken, promise, remedy in rows if broken]


def check_engine() -> None:
    """Refuse an engine with which a promise to renters cannot be kept.

    Raises:
        EngineUnfit: A promise cannot be kept.
        EngineSilent: The engine does not answer.
        EngineRefused: The engine refuses the query.
    """
    broken = broken_promises(read_engine())
    if broken:
        promise, remedy = broken[0]
        raise EngineUnfit(f"{promise}. {remedy}")


def _controllers(found: EngineFacts, more: str) -> str:
    """Return the boot parameter that adds a controller; kernels with cgroup v2 have all controllers."""
    words = "systemd.unified_cgroup_hierarchy=1" if found.cgroup != CGROUP_V2 else more
    return f"Add `{words or 'systemd.unified_cgroup_hierarchy=1'}` to the kernel's command line and restart the machine"
