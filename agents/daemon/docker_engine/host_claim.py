"""Claim of a host on its container engine: of two agents with one host's identity, one may work there.

The claim is a volume of the engine with the host's name and the folder's token as a label. Creating a volume that
exists changes nothing and returns what is there, so the second agent sees the first one's token. The claim survives
restarts of the agent and of the engine, and is removed by `berth-agent uninstall`.
"""

import logging
import threading
from collections.abc import Callable
from typing import Any, Final

from agents.daemon.docker_engine.container_spec import HOST_LABEL
from agents.daemon.docker_engine.errors import open_engine
from agents.daemon.engine.interface import EngineRefused, EngineSilent
from agents.daemon.lib.state_folder import FolderLocation

logger = logging.getLogger(__name__)

FOLDER_LABEL: Final = "berth.folder"
PLACE_LABEL: Final = "berth.place"
LOOK_EVERY_S: Final = 5.0


class HostTaken(Exception):
    """The agent of another folder has this host's identity on this engine."""


def claim_name(host_id: str) -> str:
    return f"berth-host-{host_id}"


def claim_engine(host_id: str, place: FolderLocation) -> None:
    """Claim the engine for the agent of this folder; a repeated call is cheap.

    Raises:
        HostTaken: The agent of another folder holds the claim.
        EngineSilent: The engine does not answer.
        EngineRefused: The engine refuses a request.
    """
    with open_engine() as client:
        client.create_volume(claim_name(host_id), labels=_labels(host_id, place))
        # The answer to the creation lacks the labels of a volume from before the engine's last start.
        found = client.inspect_volume(claim_name(host_id))["Labels"] or {}
    if found.get(FOLDER_LABEL) != place.token:
        other = found.get(PLACE_LABEL, "another folder")
        raise HostTaken(
            f"The engine's containers of this host belong to the agent of {other}, of which {place.path} is a copy. To run"
            f" this one and never the other again, type: berth-agent adopt --state-dir {place.path}"
        )


def claimed_by(host_id: str) -> str:
    """Return the folder whose agent holds the claim on the engine; empty for none."""
    with open_engine() as client:
        found = _claimed_containers(client, host_id)
    return str((found[0]["Labels"] or {}).get(PLACE_LABEL, "")) if found else ""


def take_over(host_id: str, place: FolderLocation) -> None:
    """Move the claim to this folder; the agent of the other one notices it and ends."""
    with open_engine() as client:
        _remove(client, host_id)
        client.create_volume(claim_name(host_id), labels=_labels(host_id, place))


def remove_claim(host_id: str) -> None:
    """Remove the claim."""
    with open_engine() as client:
        _remove(client, host_id)


def watch_claim(host_id: str, place: FolderLocation, lost: Callable[[HostTaken], None], stopped: threading.Event) -> None:
    """Check the claim periodically until it is lost or `stopped`; a pruned claim is made again."""
    while not stopped.wait(LOOK_EVERY_S):
        try:
            claim_engine(host_id, place)
        except HostTaken as error:
            lost(error)
            return
        except (EngineSilent, EngineRefused) as error:
            logger.debug("the claim was not looked at: %s", error)


def _labels(host_id: str, place: FolderLocation) -> dict[str, str]:
    return {HOST_LABEL: host_id, FOLDER_LABEL: place.token, PLACE_LABEL: place.path}


def _remove(client: Any, host_id: str) -> None:
    for item in _claimed_containers(client, host_id):
        client.remove_volume(item["Name"])


def _claimed_containers(client: Any, host_id: str) -> list[dict[str, Any]]:
    """Return the claim's volume in a list, or an empty list: the engine also matches parts of names."""
    listed = client.volumes(filters={"name": claim_name(host_id)})["Volumes"] or []
    return [item for item in listed if item["Name"] == claim_name(host_id)]
