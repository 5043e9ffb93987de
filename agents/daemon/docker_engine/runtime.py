"""Docker Engine as the agent's runtime; each call is one query or one change."""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from typing import Any, Literal

import docker

from agents.daemon.docker_engine import cgroups, probes
from agents.daemon.docker_engine.container_inspection import container_of, watched_container
from agents.daemon.docker_engine.container_spec import (
    GPUS_LABEL,
    HOST_LABEL,
    INSTANCE_LABEL,
    OFFICIAL_LABEL,
    ROOT_REPOSITORY,
    EngineOptions,
    bridge_name,
    container_body,
    container_name,
    is_made_here,
    limits_body,
    root_repository,
)
from agents.daemon.docker_engine.container_watch import ContainerWatch, WatchedContainer
from agents.daemon.docker_engine.errors import READ_TIMEOUT, convert_engine_errors, engine_address
from agents.daemon.docker_engine.exec import DEFAULT_ENGINE, WARN_SCRIPT, DockerExec, run_unheard
from agents.daemon.docker_engine.exit_events import who_ended
from agents.daemon.docker_engine.firewall import Firewall
from agents.daemon.docker_engine.images import CHANGE_TIMEOUT
from agents.daemon.docker_engine.launch_spec import bare_config
from agents.daemon.docker_engine.networks import DockerNetworks
from agents.daemon.engine.interface import (
    SSH_PORT,
    Container,
    ContainerOrder,
    EngineRefused,
    EngineSilent,
    ImageFacts,
    RootLimit,
    Usage,
)
from agents.daemon.lib.journal import EndedBy
from agents.protocol.messages import DesiredInstance

logger = logging.getLogger(__name__)

WATCH_RETRY = 1.0


class DockerRuntime(DockerNetworks):
    """Containers of one host (by its label) on the engine that the environment names."""

    kind: Literal["docker"] = "docker"
    instant = False

    def __init__(self, options: EngineOptions, firewall: Firewall | None = None) -> None:
        super().__init__(options, firewall or Firewall(), engine_address().get("base_url", DEFAULT_ENGINE))
        self.condition = ContainerWatch(self._restore_limits)
        self._ordered: set[str] = set()  # containers that this agent has stopped since it last started them
        self._events: Any = None
        with convert_engine_errors():
            first = docker.APIClient(version="auto", timeout=READ_TIMEOUT, **engine_address())
            self._api = first.api_version
            self._version = str(first.version()["Version"])
        self._reader = first
        self._changer = self._client(CHANGE_TIMEOUT)

    def version(self) -> str:
        return self._version

    def containers(self, instance: str | None = None) -> list[Container]:
        labels = [f"{HOST_LABEL}={self._options.host_id}"]
        if instance is not None:
            labels.append(f"{INSTANCE_LABEL}={instance}")
        states = list(self._states(labels))
        if instance is None:
            self.condition.follow(watched_container(state) for state in states if state["State"]["Pid"])
        return [self._container_of(state) for state in states]

    def running_gpus(self) -> dict[str, str]:
        with convert_engine_errors():
            listed = self._changer.containers(filters={"label": INSTANCE_LABEL})
        holders = {}
        for item in listed:
            for uuid in filter(None, item["Labels"].get(GPUS_LABEL, "").split(",")):
                holders[uuid] = item["Labels"][INSTANCE_LABEL]
        return holders

    def official_images(self) -> list[str]:
        with convert_engine_errors():
            listed = self._reader.images(filters={"label": f"{OFFICIAL_LABEL}=1"})
        tags = (tag for item in listed for tag in item["RepoTags"] or [])
        return sorted(tag for tag in tags if not tag.startswith(f"{ROOT_REPOSITORY}/") and tag != "<none>:<none>")

    def saved_root(self, instance: str, generation: int | None = None) -> str | None:
        saved = self._root_tags(instance)
        wanted = max(saved, default=None) if generation is None else generation
        return f"{root_repository(instance)}:{wanted}" if wanted in saved else None

    def save_root(self, container: str, instance: str, generation: int) -> str:
        with convert_engine_errors():
            conf = bare_config(self._changer, container)
            self._changer.commit(container, repository=root_repository(instance), tag=str(generation), conf=conf)
        return f"{root_repository(instance)}:{generation}"

    def remove_roots(self, instance: str, before: int) -> None:
        for tag in self._root_tags(instance):
            if tag < before:
                self.delete_image(f"{root_repository(instance)}:{tag}")

    def create(self, order: ContainerOrder) -> str:
        name = container_name(order.desired.id, order.desired.generation)
        with convert_engine_errors():
            made = self._changer.create_container_from_config(container_body(order, self._options), name)
        return str(made["Id"])

    def start(self, container: str) -> None:
        self._ordered.discard(container)
        with convert_engine_errors():
            self._changer.start(container)

    def stop(self, container: str, grace_s: int) -> None:
        self._ordered.add(container)
        try:
            with convert_engine_errors():
                self._changer.stop(container, timeout=grace_s)
        except EngineRefused as error:
            if not error.missing:
                raise

    def warn(self, container: str) -> None:
        """Send SIGTERM to the renter's programs; best effort.

        The notice is also in a file, and an image without a shell has nothing else.
        """
        try:
            with convert_engine_errors():
                command = self._changer.exec_create(container, ["/bin/sh", "-c", WARN_SCRIPT], user="0")
                run_unheard(self._changer, command["Id"])
        except EngineRefused as error:
            logger.warning("the programs in %s were not signalled: %s", container[:12], error)

    def rename(self, container: str, instance: str, generation: int) -> None:
        name = container_name(instance, generation)
        state = self._inspect(container)
        if state is not None and state["Name"] == f"/{name}":
            return
        with convert_engine_errors():
            self._changer.rename(container, name)

    def remove(self, container: str) -> None:
        self._ordered.add(container)
        try:
            with convert_engine_errors():
                self._changer.remove_container(container, force=True, v=True)
        except EngineRefused as error:
            if not error.missing:
                raise
        self._ordered.discard(container)

    def clear(self, instance: str) -> None:
        self._firewall.ssh_allow_list.remove(bridge_name(instance))
        for network in self._networks(instance):
            with convert_engine_errors():
                self._changer.remove_network(network)
        # newest first, since each saved root is based on the one before it
        for image in sorted(self._root_tags(instance), reverse=True):
            self.delete_image(f"{root_repository(instance)}:{image}")
        for identity in self._roots(instance):
            self.delete_image(identity)

    def leftovers(self, instance: str) -> list[str]:
        return [
            *(f"container {item.id[:12]}" for item in self.containers(instance)),
            *(f"network {item[:12]}" for item in self._networks(instance)),
            *(f"image {item}" for item in self._roots(instance)),
        ]

    def root_limit(self) -> RootLimit:
        return "none"

    def open_root(self, container: str) -> object:
        """Make the container's writable layer available where the engine reads it, as the engine itself does."""
        return None

    def visible_gpus(self, container: str) -> frozenset[str]:
        """Return the GPUs that the engine reports, limited to those that the first process really sees.

        The second part is left out where the kernel does not show the process's environment.
        """
        state = self._inspect(container)
        if state is None:
            return frozenset()
        requested = {uuid for item in state["HostConfig"]["DeviceRequests"] or [] for uuid in item["DeviceIDs"] or []}
        promised = requested or probes.gpus_in_env(state["Config"]["Env"] or [])
        inside = probes.env_of_process(state["State"]["Pid"])
        return frozenset(promised) if inside is None else frozenset(promised) & probes.gpus_in_env(inside)

    def ssh_answers(self, host_port: int, container: str) -> bool:
        if not self._options.publish or self._firewall.ssh_allow_list.is_restricted(host_port):
            state = self._inspect(container)
            return state is not None and probes.ssh_banner_inside(state["State"]["Pid"], state["Id"])
        listen = self._options.listen
        own = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(listen, listen)  # noqa: S104
        return probes.ssh_banner(own, host_port)

    def usage(self, container: Container) -> Usage | None:
        return cgroups.usage_of(container.pid) if container.pid else None

    def who_ended(self, container: Container) -> EndedBy:
        """Return who ended a container that is seen as ended: the engine records an end before it shows it."""
        with convert_engine_errors():
            events = list(self._reader.events(since="1", until=f"{time.time():.9f}", decode=True))
        return who_ended(events, container.id, ordered=container.id in self._ordered)

    def secure(self) -> None:
        if not self._firewall.assert_rules():
            logger.warning("the firewall rules around instances cannot be set: iptables is missing or refuses")

    def keeps_ssh_list(self) -> bool:
        """Return whether SSH allow lists hold: the rules are for IPv4, so not if ports are on IPv6 too."""
        return ":" not in self._options.listen and self._firewall.ssh_allow_list.is_supported()

    def guard(self, wanted: Iterable[DesiredInstance]) -> None:
        for item in wanted:
            networks, port = item.allow_from if item.run != "gone" else (), dict(item.ports).get(SSH_PORT, 0)
            if not self._firewall.ssh_allow_list.allow(bridge_name(item.id), networks, port):
                logger.warning("SSH of %s cannot be kept from other addresses: iptables is missing or refuses", item.id)

    def watch(self, changed: Callable[[], None], stopped: threading.Event) -> None:
        for name, part in (("paths", self.paths.run), ("condition", self.condition.run)):
            threading.Thread(target=part, args=(changed, stopped), name=name, daemon=True).start()
        while not stopped.is_set():
            try:
                with convert_engine_errors(), closing(self._client(None)) as client:
                    self._watch_events(client, changed)
            except (EngineSilent, EngineRefused) as error:
                if not stopped.is_set():
                    logger.warning("the engine's events broke off: %s", error)
            changed()  # something may have happened while the stream was broken
            stopped.wait(WATCH_RETRY)

    def exec_interface(self) -> DockerExec:
        """Return the exec interface to its containers, with its own connection to the engine."""
        place = engine_address().get("base_url", DEFAULT_ENGINE)
        return DockerExec(self._client(CHANGE_TIMEOUT), self.containers, convert_engine_errors, place)

    def close(self) -> None:
        """Close the clients, after `stopped` was set, and the event stream, which would never end by itself."""
        if self._events is not None:
            self._events.close()
        self._reader.close()
        self._changer.close()

    def _watch_events(self, client: Any, changed: Callable[[], None]) -> None:
        label = f"{HOST_LABEL}={self._options.host_id}"
        filters = {"type": "container", "label": label, "event": ["die", "start", "destroy", "pause", "unpause"]}
        self._events = client.events(filters=filters, decode=True)
        changed()  # containers that ended before this stream began are not in it
        for _ in self._events:
            changed()

    def reported(self, containers: Iterable[str]) -> None:
        self.condition.reported(containers)

    def save_image(self, container: str, reference: str) -> ImageFacts:
        with self.condition.saving(container):
            return super().save_image(container, reference)

    def _container_of(self, state: dict[str, Any]) -> Container:
        """Return a container with what the watches know of it."""
        key = state["Id"]
        paused, reduced = self.condition.found(key)
        found = container_of(
            state,
            cut=self.paths.unreachable_reason(key),
            mend_due=self.paths.is_repair_due(key),
            paused=paused or state["State"]["Status"] == "paused",
            reduced=reduced,
        )
        return replace(found, paused=False, saving=True) if self.condition.is_saving(key) else found

    def _restore_limits(self, container: WatchedContainer) -> None:
        """Give a running container the limits that it was created with."""
        wanted: dict[str, Any] = limits_body(container.ordered)
        state = self._inspect(container.id)
        if state is not None and state["HostConfig"]["CpusetCpus"]:
            wanted["CpusetCpus"] = f"0-{(os.cpu_count() or 1) - 1}"
        with convert_engine_errors():
            client = self._changer
            client._raise_for_status(client._post_json(client._url("/containers/{0}/update", container.id), data=wanted))

    @property
    def options(self) -> EngineOptions:
        return self._options

    def engine(self) -> Any:
        """Return a separate client for long work, which the caller has to close."""
        return self._client(CHANGE_TIMEOUT)

    def _client(self, timeout: float | None) -> Any:
        return docker.APIClient(version=self._api, timeout=timeout, **engine_address())

    def _root_tags(self, instance: str) -> list[int]:
        with convert_engine_errors():
            listed = self._reader.images(name=root_repository(instance))
        own = [item for item in listed if self._is_own(item["Labels"])]
        return [int(tag.rpartition(":")[2]) for item in own for tag in item["RepoTags"] or []]

    def _roots(self, instance: str) -> list[str]:
        """Return the saved roots of an instance by label, since a crash can leave one without a name.

        One without a name that another instance uses is not ours: an image has the labels that its author gave it.
        """
        with convert_engine_errors():
            labelled = self._reader.images(filters={"label": f"{INSTANCE_LABEL}={instance}"}, all=False)
            own = [item["Id"] for item in labelled if self._is_own(item["Labels"]) and is_made_here(item)]
            used = {item["ImageID"] for item in self._reader.containers(all=True)} if own else set()
        return [image for image in own if image not in used]
