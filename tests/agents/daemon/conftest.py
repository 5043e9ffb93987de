"""A market in miniature, and simulated hosts on it."""

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from agents.daemon import wiring
from agents.daemon.agent import Agent
from agents.daemon.enrolment import enrol
from agents.daemon.lib.config import AgentConfig, load_config
from agents.protocol.messages import DesiredInstance
from tests.agents.daemon.market import Market


@pytest.fixture
def market() -> Iterator[Market]:
    with Market() as running:
        yield running


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "agent"


@pytest.fixture
def config(market: Market, state: Path) -> AgentConfig:
    """A simulated host with four GPUs, enrolled."""
    wanted = AgentConfig(url=market.url, runtime="simulated", simulate_gpus="RTX 4090:4", listen="127.0.0.1")
    enrol(state, wanted, "join")
    return load_config(state)


class RunningAgent:
    """An agent in a thread of this process."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.thread = threading.Thread(target=agent.run, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.agent.stop()
        self.thread.join(20)
        assert not self.thread.is_alive()


@pytest.fixture
def start_agent(state: Path, config: AgentConfig) -> Iterator[Callable[[], RunningAgent]]:
    """Each call starts the host's agent anew, as after a crash or a boot."""
    running: list[RunningAgent] = []

    def start() -> RunningAgent:
        running.append(RunningAgent(wiring.build_agent(state, config)))
        return running[-1]

    yield start
    for item in running:
        with suppress(AssertionError):
            item.stop()


@pytest.fixture
def wanted(market: Market, config: AgentConfig) -> DesiredInstance:
    assert market.facts is not None
    return DesiredInstance(
        id=uuid.uuid4().hex,
        generation=1,
        fence=1,
        run="running",
        image="berth/base:1",
        gpu_uuids=[market.facts.gpus[0].uuid],
        simulated_gpus=True,
        cpu_millis=2000,
        ram_mb=4096,
        ports=[(22, 20000)],
        ssh_keys=["ssh-ed25519 AAAA alice"],
        env={"JUPYTER_TOKEN": "t"},
    )
