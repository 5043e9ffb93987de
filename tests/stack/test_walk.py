"""The main job through every real part but the container engine: web, relay, worker, beat, agent, over HTTP."""

import pytest

from tests.stack import renting
from tests.stack.harness import Stack

pytestmark = pytest.mark.stack

_COUNTED = """
SELECT last_sequence FROM agent_gateway_agentidentity agent JOIN marketplace_host host ON host.id = agent.host_id
WHERE host.name = 'sim'
"""


def test_it_walks_from_market_to_gone(stack: Stack) -> None:
    with stack.client("alice") as alice:
        offer = renting.offer_of(alice, "sim")
        assert offer["host"]["simulated"] is True
        instance = renting.rent(alice, offer)
        running = renting.wait_for_state(alice, instance, "running")
        assert len(running["gpus"]) == 1
        renting.act(alice, instance, "stop")
        stopped = renting.wait_for_state(alice, instance, "stopped")
        assert stopped["release_at"] is not None
        assert renting.offer_of(alice, "sim")["gpu_free"] == offer["gpu_free"]
        renting.act(alice, instance, "start")
        renting.wait_for_state(alice, instance, "running")
        renting.act(alice, instance, "restart")
        renting.wait_for_state(alice, instance, "running")
        renting.release(alice, instance)
        wallet = alice.get("/api/v1/wallet").json()
        assert wallet["held"] == "0.00"
    assert "ledger" in stack.manage("verify_ledger").lower()


def test_a_running_instance_is_charged_for_its_seconds_and_no_more(stack: Stack) -> None:
    with stack.client("bob") as bob:
        before = bob.get("/api/v1/wallet").json()
        instance = renting.rent(bob, renting.offer_of(bob, "sim"))
        renting.wait_for_state(bob, instance, "running")
        renting.release(bob, instance)
        after = bob.get("/api/v1/wallet").json()
    spent = float(before["balance"]) - float(after["balance"])
    assert 0 <= spent < 0.05, "a few seconds at 3.60 an hour are fractions of a cent each"
    stack.manage("verify_ledger")


def test_an_order_comes_to_run_in_one_exchange(stack: Stack) -> None:
    """The wake-up itself tells the agent what to run. A report that falls due in between makes it two: then once more."""

    def exchanges() -> int:
        return int(stack.sql(_COUNTED)[0][0])

    with stack.client("alice") as alice:
        offer = renting.offer_of(alice, "sim")
        counts: list[int] = []
        while len(counts) < 8 and 1 not in counts:
            before = exchanges()
            instance = renting.rent(alice, offer)
            renting.wait_for_state(alice, instance, "running")
            counts.append(exchanges() - before)
            renting.release(alice, instance)
    assert 1 in counts, counts
