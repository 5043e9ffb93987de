"""Body of a create call, built from the desired instance alone, so that nothing else can be requested.

The control plane names an image, GPUs, shares and ports. There are no fields for privileges, devices, host paths
and namespaces.
"""

import hashlib
import ipaddress
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.daemon.docker_engine.cgroups import Limits
from agents.daemon.docker_engine.launch_spec import LAUNCH_LABEL, launch_body, launch_label, launch_variables, shm_mb
from agents.daemon.engine.interface import SSH_PORT, ContainerOrder, spec_of
from agents.protocol.messages import DesiredInstance

INSTANCE_LABEL = "berth.instance"
HOST_LABEL = "berth.host"
UNASSIGNED_HOST = "none"  # host of a root that is being transferred: it belongs to whichever host receives it
FENCE_LABEL = "berth.fence"
SPEC_LABEL = "berth.spec"
GPUS_LABEL = "berth.gpus"
ROOT_LABEL = "berth.root"
SYSTEM_DISK_LABEL = "berth.system_disk_gb"
LIMITS_LABEL = "berth.limits"
OFFICIAL_LABEL = "berth.official"
SYNC_LABEL = "berth.sync"
SYNC_HOST_LABEL = "berth.sync-host"
TRANSFER_LABEL = "berth.parcel"  # an image that a killed agent packed before loses its name when it is packed again
# Set on every container, so that it inherits none of them from its image, whose labels are its author's.
OWN_LABELS = (
    INSTANCE_LABEL,
    HOST_LABEL,
    FENCE_LABEL,
    SPEC_LABEL,
    GPUS_LABEL,
    ROOT_LABEL,
    SYSTEM_DISK_LABEL,
    LIMITS_LABEL,
    OFFICIAL_LABEL,
    SYNC_LABEL,
    SYNC_HOST_LABEL,
    TRANSFER_LABEL,
    LAUNCH_LABEL,
)
ROOT_REPOSITORY = "berth-root"
TRANSFER_REPOSITORY = "berth-parcel"
ROOT_MESSAGE = "berth: a root on its way"  # distinguishes the layer of a transferred root from those of its image
BRIDGE_PREFIX = "berth"

CAPABILITIES = (
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "NET_BIND_SERVICE",
    "SYS_CHROOT",
    "AUDIT_WRITE",
)
MIB = 1024**2
MILLI_TO_NANO = 1_000_000
SHM_CAP_MB = 64 * 1024
OPEN_FILES = 524_288
# The engine's own profile for our capabilities, reduced. Removed are io_uring (a long series of kernel holes), sockets of
# the families AF_ALG and AF_VSOCK, and the old `socketcall`, through which a filter cannot see the family. bpf, keyctl,
# userfaultfd and new user namespaces were never allowed.
PROFILE = Path(__file__).with_name("seccomp.json")
SUBNET_PREFIX = 29  # gateway and one container


@dataclass(frozen=True)
class EngineOptions:
    """Choices of the host's owner that concern containers."""

    host_id: str
    listen: str = "0.0.0.0"  # noqa: S104 (renters connect from anywhere)
    network_pool: str = "10.209.0.0/16"
    seccomp: str = ""  # a profile as JSON text; "" keeps the engine's own default
    open_files: int = OPEN_FILES
    publish: bool = True  # False behind NAT, where published ports are of no use


def container_name(instance: str, generation: int) -> str:
    return f"berth-{instance}-{generation}"


def network_name(instance: str) -> str:
    return f"berth-{instance}"


def bridge_name(instance: str) -> str:
    """Return the name of the instance's bridge: at most 15 letters, with the firewall's prefix."""
    return BRIDGE_PREFIX + hashlib.sha256(instance.encode()).hexdigest()[:10]


def root_repository(instance: str) -> str:
    return f"{ROOT_REPOSITORY}/{instance}"


def is_own_name(image: str) -> bool:
    """Return whether only the agent gives such a name: to saved roots, and to roots in transfer."""
    return image.startswith((f"{ROOT_REPOSITORY}/", f"{TRANSFER_REPOSITORY}:", f"{TRANSFER_REPOSITORY}@"))


def is_made_here(image: Mapping[str, Any]) -> bool:
    """Return whether an image with our labels may be ours: the agent gave all of its names.

    The labels alone prove nothing, since any image can have them.
    """
    names = [*(image["RepoTags"] or []), *(image["RepoDigests"] or [])]
    return all(is_own_name(name) for name in names if not name.startswith("<none>"))


def disk_limit_gb(labels: Mapping[str, str]) -> int:
    """Return the size of a container's system disk; 0 if it has none.

    Older containers have the labels of their image.
    """
    text = labels.get(SYSTEM_DISK_LABEL, "")
    return int(text) if text.isdecimal() else 0


def ordered_limits(labels: Mapping[str, str]) -> Limits:
    """Return the limits that a container was created with; none are known of one that an older agent made."""
    cpu_millis, ram_mb, pids = (labels.get(LIMITS_LABEL) or "0 0 0").split()
    return Limits(int(cpu_millis), int(ram_mb), int(pids))


def container_body(order: ContainerOrder, options: EngineOptions) -> dict[str, Any]:
    desired = order.desired
    return {
        **launch_body(desired),
        "Image": order.image,
        "Hostname": f"berth-{desired.id[-8:]}",
        "Env": container_env(desired),
        "Labels": {
            **dict.fromkeys(OWN_LABELS, ""),
            INSTANCE_LABEL: desired.id,
            HOST_LABEL: options.host_id,
            FENCE_LABEL: str(desired.fence),
            SPEC_LABEL: spec_of(desired),
            GPUS_LABEL: ",".join(desired.gpu_uuids),
            ROOT_LABEL: str(desired.root),
            SYSTEM_DISK_LABEL: str(desired.system_disk_gb or ""),
            LIMITS_LABEL: f"{desired.cpu_millis} {desired.ram_mb} {desired.pids_limit}",
            LAUNCH_LABEL: launch_label(desired),
        },
        "ExposedPorts": {port: {} for port, _ in published_ports(desired)},
        # A shell as an image's main program keeps running while it has a terminal.
        "Tty": not desired.has_ssh,
        "OpenStdin": not desired.has_ssh,
        "HostConfig": host_config(order, options),
        "NetworkingConfig": {"EndpointsConfig": {network_name(desired.id): {}}},
    }


# Set to nothing, whatever the image says: the first two make the toolkit's hooks, which run as root of the host, load code
# of the image; the toolkit adds devices for the others.
_EMPTY = ("LD_PRELOAD", "LD_AUDIT", "NVIDIA_GDS", "NVIDIA_MOFED", "NVIDIA_GDRCOPY", "NVIDIA_NVSWITCH")


def container_env(desired: DesiredInstance) -> list[str]:
    """Return the environment variables that override what an image says about GPUs.

    Secrets of the renter are passed in a file, where no inspection shows them, if the image reads that. The last of
    two variables with one name counts.
    """
    env = [
        *(f"{name}={text}" for name, text in launch_variables(desired).items()),
        f"NVIDIA_VISIBLE_DEVICES={','.join(desired.gpu_uuids) or 'void'}",
        "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
        *(f"{name}=" for name in _EMPTY),
        f"BERTH_INSTANCE={desired.id}",
    ]
    return [*env, "BERTH_SIMULATED_GPUS=1"] if desired.simulated_gpus else env


def published_ports(desired: DesiredInstance) -> list[tuple[str, int]]:
    """Return the published ports as the engine names them (`8000/tcp`), with those of the host.

    That of SSH is left out where the agent itself serves it.
    """
    return [
        (f"{inside}/{protocol}", outside)
        for inside, outside in desired.ports
        if desired.has_ssh or inside != SSH_PORT
        for protocol in (("tcp", "udp") if inside in desired.udp_ports else ("tcp",))
    ]


def host_config(order: ContainerOrder, options: EngineOptions) -> dict[str, Any]:
    desired = order.desired
    return {
        **_resources(desired, options),
        **_isolation(options),
        "NetworkMode": network_name(desired.id),
        "PortBindings": {
            port: [{"HostIp": place, "HostPort": str(outside)} for place in _listen_addresses(options.listen)]
            for port, outside in (published_ports(desired) if options.publish else [])
        },
        "PublishAllPorts": False,
        "Mounts": _mounts(order),
        "DeviceRequests": _device_requests(desired),
        "RestartPolicy": {"Name": "no"},
        "AutoRemove": False,
        "Init": True,
        "LogConfig": {"Type": "local", "Config": {"max-size": "10m", "max-file": "2", "mode": "non-blocking"}},
    }


def _listen_addresses(listen: str) -> tuple[str, ...]:
    """Return the addresses to publish on; the engine takes `::` as IPv6 alone."""
    return ("0.0.0.0", "::") if listen == "::" else (listen,)  # noqa: S104


def network_options(instance: str, options: EngineOptions, attempt: int) -> dict[str, Any]:
    """Return the options of an instance's network, one small bridge per instance.

    The engine's own address pools are exhausted after about 30 networks, including those of stopped instances.
    """
    return {
        "name": network_name(instance),
        "driver": "bridge",
        "check_duplicate": True,
        "enable_ipv6": False,
        "ipam": {"Driver": "default", "Config": [{"Subnet": _subnet(instance, options.network_pool, attempt)}]},
        "options": {
            "com.docker.network.bridge.name": bridge_name(instance),
            "com.docker.network.bridge.enable_icc": "false",
        },
        "labels": {INSTANCE_LABEL: instance, HOST_LABEL: options.host_id},
    }


def _subnet(instance: str, pool: str, attempt: int) -> str:
    """Return the subnet for an attempt, chosen by hash.

    So parallel creations, and several agents on one engine, rarely collide; the next attempt tries another subnet.
    """
    network = ipaddress.ip_network(pool)
    count = 1 << (SUBNET_PREFIX - network.prefixlen)
    spot = int(hashlib.sha256(f"{instance}:{attempt}".encode()).hexdigest(), 16) % count
    start = network.network_address + spot * (1 << (network.max_prefixlen - SUBNET_PREFIX))
    return f"{start}/{SUBNET_PREFIX}"


def limits_body(limits: Limits) -> dict[str, int]:
    """Return the limits as the engine takes them, also for a container that runs."""
    memory = limits.ram_mb * MIB
    return {
        "NanoCpus": limits.cpu_millis * MILLI_TO_NANO,
        "Memory": memory,
        "MemorySwap": memory,
        "PidsLimit": limits.pids,
    }


def _resources(desired: DesiredInstance, options: EngineOptions) -> dict[str, Any]:
    return {
        **limits_body(Limits(desired.cpu_millis, desired.ram_mb, desired.pids_limit)),
        "ShmSize": shm_mb(desired, SHM_CAP_MB) * MIB,
        "OomKillDisable": False,
        "OomScoreAdj": 500,
        "Ulimits": [{"Name": "nofile", "Soft": options.open_files, "Hard": options.open_files}],
    }


def _isolation(options: EngineOptions) -> dict[str, Any]:
    security = ["no-new-privileges:true"]
    if options.seccomp:
        security.append(f"seccomp={options.seccomp}")
    return {
        "Privileged": False,
        "CapDrop": ["ALL"],
        "CapAdd": list(CAPABILITIES),
        "SecurityOpt": security,
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "PidMode": "",
        "UTSMode": "",
        "UsernsMode": "",
        "Devices": [],
        "DeviceCgroupRules": [],
        "Binds": [],
    }


def _mounts(order: ContainerOrder) -> list[dict[str, Any]]:
    mounts = [_bind(order.access_path, "/run/berth", read_only=True)]
    if order.data_path:
        mounts.append(_bind(order.data_path, "/data", read_only=False))
    mounts += [_bind(bind.source, bind.target, read_only=bind.read_only) for bind in order.binds]
    return mounts


def _bind(source: str, target: str, *, read_only: bool) -> dict[str, Any]:
    return {
        "Type": "bind",
        "Source": source,
        "Target": target,
        "ReadOnly": read_only,
        "BindOptions": {"Propagation": "rprivate"},
    }


def _device_requests(desired: DesiredInstance) -> list[dict[str, Any]]:
    """Request GPUs by UUID, never by count: an index may mean another GPU after a reboot."""
    if desired.simulated_gpus or not desired.gpu_uuids:
        return []
    return [{"Driver": "nvidia", "DeviceIDs": list(desired.gpu_uuids), "Capabilities": [["gpu"]]}]


def profile_text(machine: str | None = None) -> str:
    """Return the system calls that an instance may make, as one line of JSON.

    It is "" on processors other than x86_64, where the engine's own profile applies.
    """
    if (machine or platform.machine()) != "x86_64":
        return ""
    return json.dumps(json.loads(PROFILE.read_text()), separators=(",", ":"))
