"""Removal of the agent from a machine: engine, disks, firewall, service and folder.

Nothing is touched while a renter has something here, unless the owner confirms that after reading what would be
lost.
"""

import logging
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agents.daemon import wiring
from agents.daemon.control_plane.http_client import LinkError
from agents.daemon.disks.limited_runtime import LimitedRuntime
from agents.daemon.disks.loop_disks import run_tool
from agents.daemon.disks.system_disks import mounted_at
from agents.daemon.docker_engine.container_spec import HOST_LABEL, INSTANCE_LABEL, is_made_here
from agents.daemon.docker_engine.errors import open_engine
from agents.daemon.docker_engine.firewall import FORWARD_CHAIN, INPUT_CHAIN, Firewall
from agents.daemon.docker_engine.host_claim import remove_claim
from agents.daemon.engine.image_cache import CACHE_FILE, ImageCache
from agents.daemon.engine.interface import EngineRefused
from agents.daemon.installation.service import remove_service
from agents.daemon.lib.config import CONFIG_FILE, AgentConfig
from agents.daemon.lib.journal import Journal
from agents.daemon.lib.state_folder import read_location

logger = logging.getLogger(__name__)

GRACE_S: Final = 10
_IMAGES: Final = (("disks", "data disk"), ("systems", "system disk"), ("volumes/disks", "volume"), ("snapshots", "snapshot"))
DRAIN: Final = (
    "Drain the host on My hosts, wait until its instances and volumes are gone, and type this again. To delete all of it"
    " now, add --force: nobody can bring it back"
)


class StillInUse(Exception):
    """A renter has something on this host; the text lists it and says what to do."""


@dataclass(frozen=True)
class RemainingUse:
    """What renters have here: instances that the market names, and what the engine and the disks hold."""

    named: tuple[str, ...]
    here: tuple[str, ...]
    market: str  # the error if the market did not answer

    @property
    def empty(self) -> bool:
        return not (self.named or self.here or self.market)

    def __str__(self) -> str:
        parts = [f"the market could not be asked ({self.market})"] if self.market else []
        if self.named:
            parts.append(f"the market has {len(self.named)} instances here ({', '.join(self.named[:5])})")
        if self.here:
            parts.append(f"this machine holds {', '.join(self.here[:8])}{' and more' if len(self.here) > 8 else ''}")  # noqa: PLR2004
        return "; ".join(parts)


def list_remaining_use(state: Path, config: AgentConfig) -> RemainingUse:
    """List what renters have here; a market that does not know this host's key any more names nothing."""
    named, market = _query_market(state, config)
    return RemainingUse(named, tuple(_local_use(state, config)), market)


def uninstall(state: Path, config: AgentConfig, *, force: bool) -> list[str]:
    """Remove everything and return what was removed; the caller holds the folder's lock.

    Raises:
        StillInUse: A renter has something here, and `force` is not set.
        FolderCopied: The folder is a copy.
    """
    read_location(state)
    stock = list_remaining_use(state, config)
    if not stock.empty and not force:
        raise StillInUse(f"Nothing was removed: {stock}. {DRAIN}")
    removed: list[str] = []
    if config.runtime == "docker":
        removed += _from_engine(state, config)
        removed += _from_disks(state)
        removed += _from_firewall(config.host_id)
    removed += remove_service(state)
    _delete_folder(state)
    return [*removed, f"folder {state}"]


def is_removed(state: Path) -> bool:
    """Whether an uninstall was cut short after all but the folder itself was gone."""
    return state.is_dir() and not any(state.iterdir())


def _delete_folder(state: Path) -> None:
    """Delete the folder, its identity last, so that an interrupted uninstall can be repeated."""
    for path in sorted(state.iterdir(), key=lambda path: path.name == CONFIG_FILE):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    state.rmdir()


def _query_market(state: Path, config: AgentConfig) -> tuple[tuple[str, ...], str]:
    agent = wiring.build_agent(state, config)
    try:
        wanted = agent.sync_without_work().instances
    except LinkError as error:
        return (), "" if error.refused else str(error)
    finally:
        agent.parts.link.close()
        agent.parts.runtime.close()
    return tuple(sorted(item.id for item in wanted if item.run != "gone")), ""


def _local_use(state: Path, config: AgentConfig) -> Iterator[str]:
    if config.runtime == "docker":
        with open_engine() as client:
            for item in client.containers(all=True, filters={"label": _own(config)}):
                yield f"container {item['Names'][0].lstrip('/')}"
    for folder, what in _IMAGES:
        yield from (f"{what} {path.stem}" for path in sorted((state / folder).glob("*.ext4")))


def _own(config: AgentConfig) -> str:
    return f"{HOST_LABEL}={config.host_id}"


def _from_engine(state: Path, config: AgentConfig) -> Iterator[str]:
    runtime = wiring.build_runtime(state, config)
    with closing(runtime):
        instances = {item.instance for item in runtime.containers()} | set(_journaled(state))
        for container in runtime.containers():
            runtime.stop(container.id, GRACE_S)
            runtime.remove(container.id)
            yield f"container {container.instance}"
        for instance in sorted(instances):
            runtime.clear(instance)
        yield from (
            f"image {image}" for image in ImageCache(runtime, state / CACHE_FILE).pulled() if runtime.evict_image(image)
        )
        if isinstance(runtime, LimitedRuntime):
            runtime.end_trial()
    with open_engine() as client:
        for item in client.networks(filters={"label": _own(config)}):
            client.remove_network(item["Id"])
            yield f"network {item['Name']}"
        for item in _images(client, config, instances):
            try:
                client.remove_image(item["Id"], force=True)
            except EngineRefused as error:
                if not error.missing:
                    raise
            yield f"image {item['Id'][7:19]}"
    remove_claim(config.host_id)


def _images(client: Any, config: AgentConfig, instances: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the images that the agent made: saved roots, and what it packed for other hosts."""
    seen = set()
    for label in (_own(config), *(f"{INSTANCE_LABEL}={instance}" for instance in sorted(instances))):
        for item in client.images(filters={"label": label}):
            if item["Id"] not in seen and is_made_here(item):
                seen.add(item["Id"])
                yield item


def _journaled(state: Path) -> list[str]:
    return list(Journal(state / "journal", durable=False).entries()) if (state / "journal").exists() else []


def _from_disks(state: Path) -> Iterator[str]:
    """Unmount everything below the folder or from an image in it, and detach all loop devices."""
    for image in sorted(state.rglob("*.ext4")):
        for place in mounted_at(image):
            run_tool("umount", place)
        _detach(image)
        yield f"disk {image.relative_to(state)}"
    for place in _mounts_below(state):
        run_tool("umount", place)


def _mounts_below(state: Path) -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    places = [line.split()[4].encode().decode("unicode_escape") for line in lines]
    return [place for place in reversed(places) if state.resolve() in Path(place).parents]


def _detach(image: Path) -> None:
    """Detach loop devices that a killed agent left attached."""
    listed = _run_unchecked("losetup", "-n", "-O", "NAME", "-j", str(image)).stdout.split()
    for device in listed:
        _run_unchecked("losetup", "-d", device)


def _from_firewall(host_id: str) -> Iterator[str]:
    """Remove the chains if this is the last agent of the machine, since all agents share them."""
    with open_engine() as client:
        others = [item for item in client.volumes(filters={"label": HOST_LABEL})["Volumes"] or []]
        others += client.containers(all=True, filters={"label": HOST_LABEL})
    if any((item["Labels"] or {}).get(HOST_LABEL) != host_id for item in others):
        return
    if Firewall().remove():
        yield f"firewall chains {FORWARD_CHAIN} and {INPUT_CHAIN}"


def _run_unchecked(*command: str) -> "subprocess.CompletedProcess[str]":
    # Fixed programs, with paths of our own.
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
