"""An agent whose key was revoked says so and leaves everything as it is; with a new key the same folder goes on."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.daemon.enrolment import NotTheSameHost, enrol_again
from agents.daemon.lib.config import KEY_FILE, AgentConfig, load_config
from agents.protocol.messages import DesiredInstance
from tests.agents.daemon.conftest import RunningAgent
from tests.agents.daemon.market import Market, renamed
from tests.agents.daemon.test_agent import simulation
from tests.waiting import wait_until


def test_it_says_so_and_stops_taking_orders(
    market: Market, start_agent: Callable[[], RunningAgent], wanted: DesiredInstance, caplog: pytest.LogCaptureFixture
) -> None:
    running = start_agent()
    market.want(wanted)
    market.until_phase(wanted.id, "running", 1)
    before = [(item.id, item.status) for item in simulation(running).containers()]
    market.revoked = True
    with caplog.at_level(logging.ERROR):
        market.hand_over(market.slip_of(renamed(wanted, fence=2)))
        wait_until("it says so", lambda: "REVOKED" in caplog.text)
    simulation(running).stop(before[0][0], 0)  # what it would bring up again by the orders that it knows
    running.agent._act(running.agent._observe())
    assert market.refused >= 1
    before = [(before[0][0], "exited")]
    assert [(item.id, item.status) for item in simulation(running).containers()] == before


def test_a_new_key_is_the_folder_s_from_its_enrolment_on(
    market: Market, start_agent: Callable[[], RunningAgent], state: Path, config: AgentConfig
) -> None:
    start_agent().stop()
    old = (state / KEY_FILE).read_text()
    reply = enrol_again(state, config.url, "join")
    assert (reply.host_id, load_config(state).host_id) == (config.host_id, config.host_id)
    assert (state / KEY_FILE).read_text() != old
    assert load_config(state).gpu_seed == config.gpu_seed  # simulated GPUs are the same ones


def test_a_folder_of_another_host_keeps_its_key(
    market: Market,
    start_agent: Callable[[], RunningAgent],
    state: Path,
    config: AgentConfig,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start_agent().stop()
    old = (state / KEY_FILE).read_text()
    market.host_id = "0" * 32
    with pytest.raises(NotTheSameHost):
        enrol_again(state, config.url, "join")
    assert (state / KEY_FILE).read_text() == old
