"""Checks of whether a machine can be a host, with the commands to fix what is wrong.

They change nothing, query only the engine and the kernel, and need no enrolment.
"""

import os
import platform
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Final

from urllib3.exceptions import HTTPError

from agents.daemon.control_plane.tls import Client
from agents.daemon.docker_engine.firewall import Firewall
from agents.daemon.docker_engine.fitness import CGROUP_V2, EngineFacts, broken_promises, read_engine
from agents.daemon.doctor.findings import Finding, finding, ok
from agents.daemon.doctor.gpu import gpu_findings
from agents.daemon.engine.interface import EngineRefused, EngineSilent
from agents.daemon.lib.config import AgentConfig
from agents.daemon.lib.state_folder import FolderCopied, read_location
from agents.daemon.self_test.checks import LEAST_ENGINE, LEAST_KERNEL, version_of

GB: Final = 1000**3
LITTLE_GB: Final = 100
TOO_LITTLE_GB: Final = 10
PROGRAMS: Final = {
    "e2fsprogs": ("mkfs.ext4", "resize2fs", "e2fsck", "e2label"),
    "util-linux mount": ("losetup", "findmnt", "mount", "umount"),
    "iptables": ("iptables", "iptables-restore"),
}
UNFIT_SYSTEMS: Final = ("tmpfs", "ramfs", "nfs", "nfs4", "cifs", "overlay", "fuse", "9p", "squashfs")
SKEW_WARNING_S: Final = 2.0
SKEW_PROBLEM_S: Final = 30.0
SILENCE_S: Final = 10.0
START_ENGINE: Final = "sudo systemctl enable --now docker (or install it: curl -fsSL https://get.docker.com | sudo sh)"
MOVE_FOLDER: Final = "Choose a folder on an ext4 or xfs disk: --state-dir"


def examine(state: Path, config: AgentConfig | None, url: str, ports: tuple[int, int]) -> Iterator[Finding]:
    """Yield all findings, basics first; `config` is that of an enrolled host."""
    yield _root()
    yield _kernel()
    yield from _programs()
    yield from _engine()
    yield from gpu_findings(simulated=config is not None and config.simulated)
    yield from _disk(_existing(state))
    yield _loop_devices()
    yield from _ports(ports, behind_nat=config is not None and config.behind_nat)
    if config is not None:
        yield _folder(state)
    if url:
        yield from _market(url)


def _root() -> Finding:
    root = os.geteuid() == 0
    return finding("root", "ok" if root else "problem", "root" if root else "not root", "Run with sudo")


def _kernel() -> Finding:
    found = platform.release()
    fits = version_of(found) >= LEAST_KERNEL
    return finding("kernel", "ok" if fits else "problem", found, "sudo apt-get dist-upgrade && sudo reboot")


def _programs() -> Iterator[Finding]:
    missing = {package: [name for name in names if shutil.which(name) is None] for package, names in PROGRAMS.items()}
    lacking = [package for package, names in missing.items() if names]
    if not lacking:
        yield ok("programs", "all there")
    for package in lacking:
        found = f"{', '.join(missing[package])} missing"
        yield Finding("programs", "problem", found, f"sudo apt-get install -y {package}")


def _engine() -> Iterator[Finding]:
    try:
        found = read_engine()
    except (EngineSilent, EngineRefused) as error:
        yield Finding("engine", "problem", f"not responding: {str(error)[:200]}", START_ENGINE)
        return
    fits = found.podman or version_of(found.version) >= LEAST_ENGINE
    what = "Podman" if found.podman else "Docker Engine"
    yield finding("engine", "ok" if fits else "problem", f"{what} {found.version}", START_ENGINE)
    for promise, remedy in broken_promises(found):
        yield Finding("promises", "problem", promise, remedy)
    if not broken_promises(found):
        yield ok("promises", "disks, limits and the firewall can be enforced")
    yield from _engine_details(found)


def _engine_details(found: EngineFacts) -> Iterator[Finding]:
    yield finding(
        *("cgroup", "ok" if found.cgroup == CGROUP_V2 else "warning"),
        f"v{found.cgroup}, driver {found.cgroup_driver or 'unknown'}",
        "Limits work, but cgroup v1 is deprecated: add systemd.unified_cgroup_hierarchy=1 to the kernel command line",
    )
    if not found.swap_limit:
        yield Finding(
            *("swap_limit", "warning", "memory limits of instances do not include swap"),
            "sudo swapoff -a, or add swapaccount=1 to the kernel command line",
        )
    yield finding(
        *("root_quota", "ok" if found.driver == "overlay2" else "warning"),
        f"storage driver {found.driver or 'unknown'}",
        'System disks are not limited: set {"features": {"containerd-snapshotter": false}, "storage-driver": "overlay2"} in'
        " /etc/docker/daemon.json, then sudo systemctl restart docker",
    )
    userns = "userns-remap is enabled" if found.userns else "userns-remap is disabled"
    yield finding("userns", "warning" if found.userns else "ok", userns, "Berth is not tested with userns-remap; disable it")
    chain = Firewall().ssh_allow_list.is_supported()
    yield finding(
        *("firewall", "ok" if chain else "problem"),
        "chain DOCKER-USER found" if chain else "no DOCKER-USER chain: instances could reach the local network",
        'Remove "iptables": false from /etc/docker/daemon.json, then sudo systemctl restart docker',
    )


def _existing(path: Path) -> Path:
    """Return the folder, or its nearest parent that exists."""
    return next(folder for folder in (path.resolve(), *path.resolve().parents) if folder.exists())


def _disk(folder: Path) -> Iterator[Finding]:
    room, kind = shutil.disk_usage(folder), system_of(folder)
    free = room.free / GB
    verdict: Finding = finding(
        *("disk", "problem" if free < TOO_LITTLE_GB else "warning" if free < LITTLE_GB else "ok"),
        f"{free:.0f} GB of {room.total / GB:.0f} GB free under {folder}",
        "docker system df shows the space used by images; free up space or choose a larger disk: --state-dir",
    )
    yield verdict
    yield finding("file_system", "problem" if kind.startswith(UNFIT_SYSTEMS) else "ok", kind or "unknown", MOVE_FOLDER)


def system_of(folder: Path) -> str:
    """Return the type of the file system that holds the folder, as the kernel names it."""
    best, kind = "", ""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, found, *_ = line.split()
        place = place.encode().decode("unicode_escape")
        if (folder == Path(place) or Path(place) in folder.parents) and len(place) >= len(best):
            best, kind = place, found
    return kind


def _loop_devices() -> Finding:
    there = Path("/dev/loop-control").exists()
    found = "loop devices available" if there else "no /dev/loop-control: fixed-size disks cannot be mounted"
    return finding("disk_quota", "ok" if there else "problem", found, "sudo modprobe loop")


def _ports(ports: tuple[int, int], *, behind_nat: bool) -> Iterator[Finding]:
    if behind_nat:
        yield ok("ports", "none published: renters connect through the relay")
        return
    first, last = ports
    taken = [port for port in range(first, last + 1) if not _is_free(port)]
    shown = ", ".join(map(str, taken[:5])) + (" …" if len(taken) > 5 else "")  # noqa: PLR2004
    found = f"{first}-{last}: {f'{shown} in use' if taken else 'all free'}"
    remedy = f"sudo ss -lntup '( sport >= :{first} and sport <= :{last} )' shows which programs use them; instances can"
    yield finding("ports", "warning" if taken else "ok", found, remedy)
    span = Path("/proc/sys/net/ipv4/ip_local_port_range")
    low, high = map(int, span.read_text().split()) if span.exists() else (32768, 60999)
    clash = first <= high and last >= low
    yield finding(
        *("ports_outgoing", "warning" if clash else "ok"),
        f"{first}-{last} {'overlaps' if clash else 'is outside'} the range for outgoing connections ({low}-{high})",
        f"sudo sysctl -w net.ipv4.ip_local_reserved_ports={first}-{last}",
    )


def _is_free(port: int) -> bool:
    """Return whether neither a TCP nor a UDP program has the port."""
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(type=kind) as probe:
            if kind == socket.SOCK_STREAM:  # connections that have ended keep no program from it
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("0.0.0.0", port))  # noqa: S104 (nothing listens: it is closed at once)
            except OSError:
                return False
    return True


def _folder(state: Path) -> Finding:
    try:
        read_location(state)
    except FolderCopied as error:
        detail, _, remedy = str(error).partition("To run")
        return Finding("folder", "problem", detail.strip(), f"To run{remedy}")
    return ok("folder", str(state))


def _market(url: str) -> Iterator[Finding]:
    begun = time.time()
    try:
        with closing(Client(SILENCE_S)) as client:
            answer = client.request("GET", f"{url.rstrip('/')}/healthz")
    except HTTPError as error:
        remedy = f"curl -v {url}/healthz shows why; set HTTPS_PROXY to use a proxy"
        yield Finding("market", "problem", f"{url} does not respond: {str(error)[:160]}", remedy)
        return
    yield ok("market", f"{url} responds ({answer.status})")
    with suppress(TypeError, ValueError):
        server = parsedate_to_datetime(answer.headers.get("Date", "")).timestamp() + 0.5  # the header has whole seconds
        skew = server - (begun + time.time()) / 2
        size = abs(skew)
        yield finding(
            *("clock", "problem" if size > SKEW_PROBLEM_S else "warning" if size > SKEW_WARNING_S else "ok"),
            f"{skew:+.1f} s compared with Berth" if size > 1 else "in sync with Berth",
            "sudo timedatectl set-ntp true",
        )
