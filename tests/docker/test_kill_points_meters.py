"""What is charged while the agent is killed again and again: from when the container ran until it ran no more."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import httpx
import pytest

from billing.constants import PROOF_BRIDGE
from tests.docker.kill_matrix import Clock, Doomed, build_greeter, fork_server
from tests.docker.kill_stage import GREETER, TOLD_LATE_S
from tests.stack import renting
from tests.stack.conftest import open_folder
from tests.stack.harness import Stack
from tests.waiting import wait_until

pytestmark = pytest.mark.docker
PORTS = "17000-17999"  # outside the range from which the kernel takes outgoing ports
# What is charged of an instance's use: from when to when, as the market has it.
METERS = """
SELECT extract(epoch FROM opened_at), extract(epoch FROM least(proven_until, funded_until, capped_at))
FROM billing_meter WHERE source_kind = 'instance' AND source_id = '{}' AND NOT calendar AND closed_at IS NOT NULL
ORDER BY opened_at
"""


@dataclass
class Rented:
    """One renter's instance, and the agent of its host that is alive now."""

    stack: Stack
    fork_server: Any
    client: httpx.Client
    instance: dict[str, Any]
    agent: Doomed

    def dying(self, step: str, order: Callable[[], object]) -> None:
        """The agent ends at that step of what is ordered; then there is another one."""
        self.agent.arm(step, 1)
        order()
        wait_until(f"the agent dies at {step}", lambda: self.agent.is_dead)
        self.respawn()

    def respawn(self) -> None:
        self.agent = spawn(self.stack, self.fork_server)

    def act(self, action: str) -> Callable[[], object]:
        return lambda: renting.act(self.client, self.instance, action)

    def until(self, state: str) -> float:
        renting.wait_for_state(self.client, self.instance, state)
        return time.time()


def spawn(stack: Stack, place: Any, step: tuple[str, int] = ("", 0)) -> Doomed:
    return Doomed(place, stack.folder / "state-real", stack.env, step)


@pytest.fixture
def rented(services: None, engine: Any) -> Iterator[Rented]:
    build_greeter(GREETER)
    stack = Stack(open_folder())
    try:
        with fork_server() as place:
            stack.start()
            stack.run_module("tests.stack.seed", "image", "greeter", GREETER)
            words = ["--runtime", "docker", "--simulate-gpus", "T4:2", "--ports", PORTS, "--listen", "127.0.0.1"]
            stack.enrol("real", *words)
            stack.kill("agent-real")
            made = Rented(stack, place, stack.client("alice"), {}, spawn(stack, place))
            yield made
            print((stack.folder / "state-real.log").read_text()[-8000:])  # what the agents said, where the test failed
            if not made.agent.is_dead:
                made.agent.kill()
    finally:
        stack.stop()


def test_what_is_charged_is_what_ran(rented: Rented, engine: Any) -> None:
    offer = renting.offer_of(rented.client, "real")
    (row,) = rented.stack.sql("SELECT id FROM marketplace_host")
    clock = Clock(engine, str(row[0]).replace("-", ""))

    def rent() -> None:
        rented.instance = renting.rent(rented.client, offer, image="greeter", data_disk_gb=1)

    rented.dying("=started", rent)
    runs_since = [rented.until("running")]
    key = str(rented.instance["id"]).removeprefix("inst_")
    rented.agent.kill()  # and the container goes on meanwhile
    rented.respawn()
    for step in ("=halted", "=renamed", "=tested"):
        rented.dying(step, rented.act("restart"))
        runs_since.append(rented.until("running"))
    rented.dying("POST containers/ID/stop", rented.act("stop"))
    rented.until("stopped")
    rented.dying("=accepted", rented.act("start"))
    runs_since.append(rented.until("running"))
    rented.dying("=cleared", lambda: rented.client.delete(f"/api/v1/instances/{rented.instance['id']}").raise_for_status())
    rented.until("gone")

    spans = clock.spans(key)
    meters = [(float(begin), float(end)) for begin, end in rented.stack.sql(METERS.format(key))]
    charged, ran = sum(end - begin for begin, end in meters), sum(end - begin for begin, end in spans)
    print(f"\ncharged {charged:.2f} s in {len(meters)} stretches; ran {ran:.2f} s in {len(spans)}")
    assert len(meters) == 2, "stopped in between, and not charged then"
    for begin, end in meters:
        inside = [(start, stop) for start, stop in spans if start <= end and stop >= begin]
        assert inside[0][0] <= begin and end <= inside[-1][1] + TOLD_LATE_S, (begin, end, spans)
        # While it is restarted it keeps its GPUs: a gap that short is charged, see docs/money.md.
        assert all(later[0] - earlier[1] < PROOF_BRIDGE.total_seconds() for earlier, later in pairwise(inside))
    assert meters[0][1] <= meters[1][0], "no second twice"
    for seen in runs_since:
        charged_then = any(begin <= seen and end >= seen - TOLD_LATE_S for begin, end in meters)
        assert charged_then, f"it ran at {seen}, and nothing is charged: {meters}"
    assert not engine.containers(all=True, filters={"label": f"berth.instance={key}"})
    rented.stack.manage("verify_ledger")
    clock.close()
