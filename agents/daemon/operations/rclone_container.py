"""Container that copies one disk to or from object storage.

It has that disk and nothing else of this machine: no port, a network of its own behind the same firewall as
instances, a read-only root file system, and only those of root's capabilities that files of all owners need.
"""

import contextlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final, Protocol

from agents.daemon.docker_engine.container_spec import (
    MIB,
    MILLI_TO_NANO,
    SYNC_HOST_LABEL,
    SYNC_LABEL,
    EngineOptions,
    network_name,
)
from agents.daemon.docker_engine.errors import convert_engine_errors
from agents.daemon.docker_engine.runtime import DockerRuntime
from agents.daemon.engine.interface import EngineRefused

DISK_AT: Final = "/disk"
NO_LOGIN_STATUS: Final = 90  # exit status if it was not sent its login: see images/sync/berth-sync
_KILLED: Final = 128  # this status and higher ones: ended by a signal, as when the machine goes down
_CPU_MILLIS: Final = 1000
_MEMORY_MB: Final = 768
_PIDS: Final = 256
_LOG_LINES: Final = 300


@dataclass(frozen=True)
class SyncContainerOrder:
    """Order for one container; `words` are rclone's arguments."""

    id: str
    image: str
    disk: str
    read_only: bool
    words: tuple[str, ...]


@dataclass(frozen=True)
class SyncContainerState:
    """State as the engine shows it; `code` is None while it runs and before it was started."""

    running: bool
    code: int | None = None
    out_of_memory: bool = False

    @property
    def has_result(self) -> bool:
        """Return whether it ended by itself, after it had been sent everything."""
        if self.running or self.code is None or self.code == NO_LOGIN_STATUS:
            return False
        return self.out_of_memory or self.code < _KILLED


class SyncContainers(Protocol):
    """Sync containers of one host."""

    def state(self, key: str) -> SyncContainerState | None: ...

    def make(self, order: SyncContainerOrder) -> None: ...

    def connect(self, key: str) -> None:
        """Make its network."""

    def start(self, key: str, environment: Mapping[str, str]) -> None:
        """Start it and send it these names and values."""

    def log(self, key: str) -> bytes: ...

    def remove(self, key: str) -> None:
        """Remove it with its network; it may be missing."""

    def present(self) -> list[str]: ...


def container_name(key: str) -> str:
    return f"berth-sync-{key}"


def container_body(order: SyncContainerOrder, options: EngineOptions) -> dict[str, Any]:
    """Return the body of the create call.

    Only an image, a checked disk and rclone's arguments come from outside.
    """
    security = ["no-new-privileges:true", *([f"seccomp={options.seccomp}"] if options.seccomp else [])]
    # Files of every owner are read, and restored with their owners. With a read-only disk none of it can change
    # anything.
    powers = ["DAC_OVERRIDE"] if order.read_only else ["CHOWN", "DAC_OVERRIDE", "FOWNER"]
    return {
        "Image": order.image,
        "Cmd": list(order.words),
        "User": "0",
        "Env": [],
        "Labels": {SYNC_LABEL: order.id, SYNC_HOST_LABEL: options.host_id},
        "OpenStdin": True,
        "StdinOnce": True,
        "HostConfig": {
            "NanoCpus": _CPU_MILLIS * MILLI_TO_NANO,
            "Memory": _MEMORY_MB * MIB,
            "MemorySwap": _MEMORY_MB * MIB,
            "PidsLimit": _PIDS,
            "OomScoreAdj": 500,
            "Privileged": False,
            "ReadonlyRootfs": True,
            "CapDrop": ["ALL"],
            "CapAdd": powers,
            "SecurityOpt": security,
            "IpcMode": "private",
            "CgroupnsMode": "private",
            "NetworkMode": network_name(order.id),
            "PublishAllPorts": False,
            "Mounts": [
                {
                    "Type": "bind",
                    "Source": order.disk,
                    "Target": DISK_AT,
                    "ReadOnly": order.read_only,
                    "BindOptions": {"Propagation": "rprivate"},
                }
            ],
            "RestartPolicy": {"Name": "no"},
            "AutoRemove": False,
            "Init": True,
            "LogConfig": {"Type": "local", "Config": {"max-size": "10m", "max-file": "2"}},
        },
        "NetworkingConfig": {"EndpointsConfig": {network_name(order.id): {}}},
    }


class DockerSyncContainers:
    """Sync containers on the Docker Engine."""

    def __init__(self, runtime: DockerRuntime) -> None:
        self._runtime = runtime

    def state(self, key: str) -> SyncContainerState | None:
        try:
            with convert_engine_errors(), closing(self._runtime.engine()) as engine:
                now = engine.inspect_container(container_name(key))["State"]
        except EngineRefused as error:
            if error.missing:
                return None
            raise
        running = now["Status"] in ("running", "restarting", "paused")
        ended = now["Status"] in ("exited", "dead")
        return SyncContainerState(running, int(now["ExitCode"]) if ended else None, bool(now["OOMKilled"]))

    def make(self, order: SyncContainerOrder) -> None:
        with convert_engine_errors(), closing(self._runtime.engine()) as engine:
            engine.create_container_from_config(container_body(order, self._runtime.options), container_name(order.id))

    def connect(self, key: str) -> None:
        self._runtime.make_network(key)

    def start(self, key: str, environment: Mapping[str, str]) -> None:
        lines = "".join(f"{name}={value}\n" for name, value in environment.items()) + ".\n"
        with convert_engine_errors(), closing(self._runtime.engine()) as engine:
            # Attached first: what is sent before the program reads is kept for it, and closing our side closes its
            # input.
            attached = engine.attach_socket(container_name(key), params={"stdin": 1, "stream": 1})
            with (
                closing(attached),
                closing(attached._sock) as connection,
            ):  # the attached object is a read-only file, with the socket behind it
                engine.start(container_name(key))
                connection.sendall(lines.encode())

    def log(self, key: str) -> bytes:
        with convert_engine_errors(), closing(self._runtime.engine()) as engine:
            return bytes(engine.logs(container_name(key), stdout=True, stderr=True, tail=_LOG_LINES))

    def remove(self, key: str) -> None:
        """Remove the container last: while it exists, it shows that more may be left."""
        with contextlib.suppress(EngineRefused), convert_engine_errors(), closing(self._runtime.engine()) as engine:
            engine.kill(container_name(key))
            engine.wait(container_name(key), timeout=60)
        self._runtime.clear(key)
        self._runtime.remove(container_name(key))

    def present(self) -> list[str]:
        mine = {"label": f"{SYNC_HOST_LABEL}={self._runtime.options.host_id}"}
        with convert_engine_errors(), closing(self._runtime.engine()) as engine:
            return [item["Labels"][SYNC_LABEL] for item in engine.containers(all=True, filters=mine)]
