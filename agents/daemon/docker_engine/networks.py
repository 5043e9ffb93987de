"""Networks of containers: created, recreated when they are gone or broken, and watched."""

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from agents.daemon.docker_engine.container_inspection import is_attached, route_to
from agents.daemon.docker_engine.container_spec import (
    HOST_LABEL,
    UNASSIGNED_HOST,
    EngineOptions,
    bridge_name,
    network_name,
    network_options,
)
from agents.daemon.docker_engine.errors import convert_engine_errors
from agents.daemon.docker_engine.firewall import Firewall
from agents.daemon.docker_engine.images import DockerImages
from agents.daemon.docker_engine.reachability import (
    NET,
    ContainerRoute,
    PublishedPort,
    is_closed,
    route_fault,
    shares_network_with,
)
from agents.daemon.docker_engine.reachability_watch import ReachabilityWatch
from agents.daemon.engine.interface import EngineRefused

SUBNET_TRIES: Final = 64
SAME_BRIDGE: Final = "same bridge name"
SAME_BRIDGE_PAUSE: Final = 0.1


class DockerNetworks(DockerImages):
    """Network operations of the runtime; each instance has one network."""

    def __init__(self, options: EngineOptions, firewall: Firewall, place: str) -> None:
        self._options = options
        self._firewall = firewall
        self._place = place
        self._network_lock = threading.Lock()
        self.paths = ReachabilityWatch(self._find_unreachable)

    def make_network(self, instance: str) -> None:
        for attempt in range(SUBNET_TRIES):
            # Under a lock: despite CheckDuplicate the engine creates two networks of one name when asked at once.
            with self._network_lock:
                if self._networks(instance):
                    return
                try:
                    with convert_engine_errors():
                        self._changer.create_network(**network_options(instance, self._options, attempt))
                    return
                except EngineRefused as error:
                    if SAME_BRIDGE in str(error).lower():  # a killed agent has requested it, and it is about to exist
                        time.sleep(SAME_BRIDGE_PAUSE)
                    elif "overlap" not in str(error).lower():
                        raise
        raise EngineRefused(f"no free network in {self._options.network_pool}")

    def attach(self, container: str, instance: str) -> None:
        """Connect the container to its instance's network, which is recreated if it is gone or broken.

        The engine remembers a stopped container's network by id: another one of the same name does not count.
        """
        if self.paths.is_ours_to_mend(container) or self._has_lost_bridge(instance):
            self._recreate_network(container, instance)
            return
        self.make_network(instance)
        state = self._inspect(container)
        if state is None or is_attached(state, instance, self._networks(instance)):
            return
        with convert_engine_errors():
            self._changer.connect_container_to_network(container, network_name(instance))

    def _recreate_network(self, container: str, instance: str) -> None:
        """Recreate the instance's network with everything that the engine sets up for it.

        The address stays the same if possible, so that open connections survive.
        """
        self.paths.record_attempt(container)
        state = self._inspect(container)
        route = route_to(state) if state is not None else None
        with suppress(EngineRefused), convert_engine_errors():
            self._changer.disconnect_container_from_network(container, network_name(instance), force=True)
        for network in self._networks(instance):
            with convert_engine_errors():
                self._changer.remove_network(network)
        self.make_network(instance)
        try:
            with convert_engine_errors():
                self._changer.connect_container_to_network(
                    container, network_name(instance), ipv4_address=route.address if route else None
                )
        except EngineRefused:
            with convert_engine_errors():
                self._changer.connect_container_to_network(container, network_name(instance))
        self.paths.look()

    def _has_lost_bridge(self, instance: str) -> bool:
        """Return whether the engine still lists the network although its bridge was removed on the host."""
        if not self._networks(instance) or not shares_network_with(self._place):
            return False
        return not (NET / bridge_name(instance)).exists()

    def _states(self, labels: list[str]) -> Iterator[dict[str, Any]]:
        with convert_engine_errors():
            listed = self._reader.containers(all=True, filters={"label": labels})
        found = (self._inspect(item["Id"]) for item in listed)
        return (state for state in found if state is not None)

    def _find_unreachable(self) -> dict[str, str]:
        """Return the running containers that cannot be reached from outside, with the reasons."""
        if not shares_network_with(self._place):
            return {}
        routes = list(filter(None, map(route_to, self._states([f"{HOST_LABEL}={self._options.host_id}"]))))
        if not routes:
            return {}
        rules = self._firewall.rules_now()
        found = {route.container: route_fault(route, rules, self._is_closed) for route in routes}
        return {container: why for container, why in found.items() if why}

    def _is_closed(self, route: ContainerRoute, published: PublishedPort) -> bool:
        return not self._firewall.ssh_allow_list.is_restricted(published.host_port) and is_closed(route, published)

    def _networks(self, instance: str) -> list[str]:
        with convert_engine_errors():
            listed = self._reader.networks(names=[network_name(instance)])
        same = [item for item in listed if item["Name"] == network_name(instance)]  # the engine also matches parts of names
        return [item["Id"] for item in same if self._is_own(item["Labels"])]

    def _is_own(self, labels: dict[str, str] | None) -> bool:
        """Return whether a network or image with these labels belongs to this host.

        Another host on this engine may know the same instance, as after a copy of the market's database: what has
        its label is left alone. What has no such label came by a transfer, or from an agent that did not set it.
        """
        return (labels or {}).get(HOST_LABEL) in (None, "", UNASSIGNED_HOST, self._options.host_id)

    def _inspect(self, container: str) -> dict[str, Any] | None:
        try:
            with convert_engine_errors():
                state: dict[str, Any] = self._reader.inspect_container(container)
        except EngineRefused as error:
            if error.missing:
                return None  # ended between two requests
            raise
        return state
