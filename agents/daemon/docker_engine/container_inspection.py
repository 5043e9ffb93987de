"""Conversion of the engine's inspection of our containers into the agent's own types."""

from datetime import datetime
from typing import Any, Final

from agents.daemon.docker_engine import cgroups
from agents.daemon.docker_engine.container_spec import (
    FENCE_LABEL,
    GPUS_LABEL,
    INSTANCE_LABEL,
    ROOT_LABEL,
    SPEC_LABEL,
    bridge_name,
    network_name,
    ordered_limits,
)
from agents.daemon.docker_engine.container_watch import WatchedContainer
from agents.daemon.docker_engine.reachability import ContainerRoute, PublishedPort
from agents.daemon.engine.interface import Container, Status

_STATUS: Final[dict[str, Status]] = {
    "created": "created",
    "running": "running",
    "restarting": "running",
    "paused": "paused",
}
_NEVER: Final = "0001-01-01T00:00:00Z"


def _length_of(now: dict[str, Any]) -> float:
    """Return the seconds from the last start to the end by the engine's clock; 0 if it never ran."""
    if _NEVER in (now["StartedAt"], now["FinishedAt"]):
        return 0.0
    ran = datetime.fromisoformat(now["FinishedAt"]) - datetime.fromisoformat(now["StartedAt"])
    return max(0.0, ran.total_seconds())


def is_attached(state: dict[str, Any], instance: str, networks: list[str]) -> bool:
    """Return whether a container is in one of these networks, or will be when it starts."""
    own = (state["NetworkSettings"]["Networks"] or {}).get(network_name(instance))
    if own is None:
        return False
    return bool(own["EndpointID"]) if state["State"]["Running"] else own["NetworkID"] in ("", *networks)


def route_to(state: dict[str, Any]) -> ContainerRoute | None:
    """Return how a running container is reached; None if it does not run or has no address."""
    instance = state["Config"]["Labels"][INSTANCE_LABEL]
    network = (state["NetworkSettings"]["Networks"] or {}).get(network_name(instance)) or {}
    if state["State"]["Status"] != "running" or not network.get("IPAddress"):
        return None
    published = (state["NetworkSettings"]["Ports"] or {}).items()
    published_ports = [
        PublishedPort(place["HostIp"], int(place["HostPort"]), int(inside.partition("/")[0]))
        for inside, places in published
        for place in places or ()
        if inside.endswith("/tcp")
    ]
    return ContainerRoute(
        state["Id"], bridge_name(instance), network["IPAddress"], network["Gateway"], tuple(published_ports)
    )


def watched_container(state: dict[str, Any]) -> WatchedContainer:
    return WatchedContainer(state["Id"], state["State"]["Pid"], ordered_limits(state["Config"]["Labels"]))


def container_of(
    state: dict[str, Any], *, cut: str = "", mend_due: bool = False, paused: bool = False, reduced: str = ""
) -> Container:
    labels, now = state["Config"]["Labels"], state["State"]
    status = _STATUS.get(now["Status"], "exited")
    number = state["Name"].rpartition("-")[2]
    return Container(
        id=state["Id"],
        instance=labels[INSTANCE_LABEL],
        generation=int(number) if number.isdecimal() else 0,  # not a number if somebody renamed the container
        status=status,
        spec=labels.get(SPEC_LABEL, ""),
        gpu_uuids=tuple(filter(None, labels.get(GPUS_LABEL, "").split(","))),
        started_at="" if now["StartedAt"] == _NEVER else now["StartedAt"],
        run_seconds=cgroups.age_of(now["Pid"]) if status == "running" else _length_of(now),
        exit_code=now["ExitCode"],
        out_of_memory=now["OOMKilled"],
        before_boot=now["StartedAt"] != _NEVER and datetime.fromisoformat(now["StartedAt"]) < cgroups.booted_at(),
        pid=now["Pid"] if status == "running" else 0,
        root=int(labels.get(ROOT_LABEL, "0")),
        fence=int(labels.get(FENCE_LABEL, "0")),
        detached=status == "running" and not is_attached(state, labels[INSTANCE_LABEL], []),
        cut=cut if status == "running" else "",
        mend_due=mend_due and status == "running",
        paused=paused and status in ("running", "paused"),
        reduced=reduced if status == "running" else "",
    )
