"""The container that copies one disk to or from object storage: made, told its login, looked at, taken away.

It has that disk and nothing else of this machine: no port, a network of its own behind the same firewall as instances, a
root file system that it cannot write, and of root's powers those alone that files of all owners need.
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
from agents.daemon.docker_engine.errors import engine_answers
from agents.daemon.docker_engine.runtime import DockerRuntime
from agents.daemon.engine.interface import EngineRefused

DISK_AT: Final = "/disk"
UNTOLD: Final = 90  # the status of one that was not told its login: see images/sync/berth-sync
_KILLED: Final = 128  # and above: ended by a signal, such as the machine going down
_CPU_MILLIS: Final = 1000
_MEMORY_MB: Final = 768
_PIDS: Final = 256
_LOG_LINES: Final = 300


@dataclass(frozen=True)
class BoxOrder:
    """One container to be made. `words` are rclone's arguments."""

    id: str
    image: str
    disk: str
    read_only: bool
    words: tuple[str, ...]


@dataclass(frozen=True)
class BoxState:
    """As the engine shows it: `code` of one that has ended, None while it runs or before it was started."""

    running: bool
    code: int | None = None
    out_of_memory: bool = False

    @property
    def has_result(self) -> bool:
        """It ended by itself, having been told everything."""
        if self.running or self.code is None or self.code == UNTOLD:
            return False
        return self.out_of_memory or self.code < _KILLED


class RcloneContainers(Protocol):
    """Such containers of one host."""

    def state(self, key: str) -> BoxState | None: ...

    def make(self, order: BoxOrder) -> None: ...

    def connect(self, key: str) -> None:
        """Its network."""

    def start(self, key: str, told: Mapping[str, str]) -> None:
        """Start it and tell it these names and values."""

    def log(self, key: str) -> bytes: ...

    def remove(self, key: str) -> None:
        """With its network. One that is not there is fine."""

    def present(self) -> list[str]: ...


def box_name(key: str) -> str:
    return f"berth-sync-{key}"


def box_body(order: BoxOrder, options: EngineOptions) -> dict[str, Any]:
    """What is asked of the engine; nothing in it comes from outside but an image, a checked disk and rclone's arguments."""
    security = ["no-new-privileges:true", *([f"seccomp={options.seccomp}"] if options.seccomp else [])]
    # Files of every owner are read, and put back with their owners. Where the disk is read only none of it changes anything.
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


class DockerBoxes:
    """Real ones."""

    def __init__(self, runtime: DockerRuntime) -> None:
        self._runtime = runtime

    def state(self, key: str) -> BoxState | None:
        try:
            with engine_answers(), closing(self._runtime.engine()) as engine:
                now = engine.inspect_container(box_name(key))["State"]
        except EngineRefused as error:
            if error.missing:
                return None
            raise
        running = now["Status"] in ("running", "restarting", "paused")
        ended = now["Status"] in ("exited", "dead")
        return BoxState(running, int(now["ExitCode"]) if ended else None, bool(now["OOMKilled"]))

    def make(self, order: BoxOrder) -> None:
        with engine_answers(), closing(self._runtime.engine()) as engine:
            engine.create_container_from_config(box_body(order, self._runtime.options), box_name(order.id))

    def connect(self, key: str) -> None:
        self._runtime.make_network(key)

    def start(self, key: str, told: Mapping[str, str]) -> None:
        lines = "".join(f"{name}={value}\n" for name, value in told.items()) + ".\n"
        with engine_answers(), closing(self._runtime.engine()) as engine:
            # Attached first: what is sent before it reads waits for it, and an end of ours is one of its input.
            attached = engine.attach_socket(box_name(key), params={"stdin": 1, "stream": 1})
            with (
                closing(attached),
                closing(attached._sock) as connection,
            ):  # a file, to read from alone, and what is behind it
                engine.start(box_name(key))
                connection.sendall(lines.encode())

    def log(self, key: str) -> bytes:
        with engine_answers(), closing(self._runtime.engine()) as engine:
            return bytes(engine.logs(box_name(key), stdout=True, stderr=True, tail=_LOG_LINES))

    def remove(self, key: str) -> None:
        """The container last: as long as it is there, it is known what else may be left."""
        with contextlib.suppress(EngineRefused), engine_answers(), closing(self._runtime.engine()) as engine:
            engine.kill(box_name(key))
            engine.wait(box_name(key), timeout=60)
        self._runtime.clear(key)
        self._runtime.remove(box_name(key))

    def present(self) -> list[str]:
        mine = {"label": f"{SYNC_HOST_LABEL}={self._runtime.options.host_id}"}
        with engine_answers(), closing(self._runtime.engine()) as engine:
            return [item["Labels"][SYNC_LABEL] for item in engine.containers(all=True, filters=mine)]
