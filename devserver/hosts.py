"""Demo hosts: about twenty simulated ones, and this machine if a container engine answers."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import httpx

from agents.daemon.control_plane.http_client import LinkError
from agents.daemon.engine.interface import EngineRefused, EngineSilent
from agents.daemon.enrolment import enrol
from agents.daemon.gpu.nvml import NvmlProbe
from agents.daemon.lib.config import AgentConfig, is_enrolled, load_config, save_config
from devserver.image import BASE_FOLDER, ImageBuild, engine_version
from devserver.market import MarketRefused, join_token, sell_every_mode
from devserver.paths import Layout
from devserver.simulated_hosts import FLEET, DemoHost
from devserver.supervisor import Program, Supervisor
from devserver.terminal import print_status

_RETRY_S = 10.0
_REFUSALS = (httpx.HTTPError, MarketRefused, LinkError, EngineSilent, EngineRefused)
_AGENT_GRACE_S = 8.0
_MOST_SIMULATED_GPUS = 4


class DemoHosts:
    """Enrols missing hosts through the market's own API, and runs the agents."""

    def __init__(self, layout: Layout, environment: Mapping[str, str], supervisor: Supervisor) -> None:
        self._layout, self._environment, self._supervisor = layout, environment, supervisor
        self._image: ImageBuild | None = None
        self._retry_at = 0.0

    def start(self, check: Callable[[], None]) -> None:
        """Start the simulated hosts now, and this machine once its image is built.

        `check` raises when the stack is to stop.
        """
        folder = self._layout.state / "fleet"
        folder.mkdir(parents=True, exist_ok=True)
        missing = [host for host in FLEET if not is_enrolled(folder / host.name)]
        if missing:
            print_status(f"enrolling {len(missing)} simulated hosts")
        for host in FLEET:
            check()
            self._enrol_simulated(folder / host.name, host)
        if missing:
            self._sell_every_mode()
        self._supervisor.start(self._agent("fleet", "fleet", folder))
        self._start_image()

    def tend(self) -> None:
        """Let this machine join, once its image has been built."""
        if self._image is None or not self._image.ready or time.monotonic() < self._retry_at:
            return
        try:
            self._join_this_machine()
        except _REFUSALS as error:
            print_status(f"this machine cannot join yet: {error}; again in {_RETRY_S:g} s")
            self._retry_at = time.monotonic() + _RETRY_S
        else:
            self._image = None

    def _sell_every_mode(self) -> None:
        try:
            print_status(f"{sell_every_mode(self._layout)} hosts sell more than hourly")
        except httpx.HTTPError as error:
            print_status(f"the hosts sell hourly alone: {error}")

    def _start_image(self) -> None:
        version = engine_version()
        if version is None:
            print_status("no container engine answers: the market has simulated hosts alone")
            return
        if os.geteuid() != 0:
            print_status(f"container engine {version} answers, but only root can mount data disks: simulated hosts alone")
            return
        print_status(f"container engine {version} answers: this machine joins with real containers when its image is there")
        self._image = ImageBuild(BASE_FOLDER, self._layout.image_file, self._layout.logs / "image.log")
        self._image.start()

    def _enrol_simulated(self, state: Path, host: DemoHost) -> None:
        # No program listens in a simulated instance, so its host's name must not resolve.
        config = AgentConfig(
            url=self._layout.url,
            runtime="simulated",
            simulate_gpus=host.gpus,
            address=f"{host.name}.invalid",
            sparse_disks=True,
        )
        try:
            self._enrol(state, config, name=host.name, region=host.region, price=host.price)
        except _REFUSALS as error:
            print_status(f"{host.name} cannot join: {error}")

    def _join_this_machine(self) -> None:
        state = self._layout.state / "agent"
        first, last = map(int, self._layout.instance_ports.split("-"))
        gpus = simulated_gpus()
        config = AgentConfig(
            url=self._layout.url,
            simulate_gpus=gpus,
            address=self._layout.host,
            listen=self._layout.host,
            port_first=first,
            port_last=last,
            network_pool=self._layout.network_pool,
            local_images=True,
            sparse_disks=True,
        )
        self._enrol(state, config, name="this-machine", region="local", price="0.40")
        self._supervisor.start(self._agent("agent", "run", state))
        print_status(
            f"this machine is on the market: real containers, {f'simulated GPUs ({gpus})' if gpus else 'its NVIDIA GPUs'}"
        )

    def _enrol(self, state: Path, config: AgentConfig, *, name: str, region: str, price: str) -> None:
        if not is_enrolled(state):
            enrol(state, config, join_token(self._layout, name=name, region=region, price=price))
            return
        known = load_config(state)
        if known.url != config.url:  # PORT has changed
            save_config(state, replace(known, url=config.url))

    def _agent(self, name: str, verb: str, state: Path) -> Program:
        command = (sys.executable, "-m", "agents.daemon", verb, "--state-dir", str(state))
        return Program(name, command, self._environment, _AGENT_GRACE_S)


def simulated_gpus() -> str:
    """Return the GPUs to simulate on this machine: none if it has NVIDIA GPUs, else a few.

    There are few so that each has a fair share of the machine.
    """
    if NvmlProbe().facts():
        return ""
    return f"RTX 4090:{max(2, min(_MOST_SIMULATED_GPUS, os.cpu_count() or 1))}"
