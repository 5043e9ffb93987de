"""The loop against a control plane over real HTTP: speed, and everything that gets lost, doubled or late."""

import statistics
from collections.abc import Callable
from dataclasses import replace

from agents.protocol.messages import DesiredInstance
from tests.agents.daemon.conftest import RunningAgent
from tests.agents.daemon.market import Market

Start = Callable[[], RunningAgent]


def test_order_to_running_costs_a_few_milliseconds(market: Market, start_agent: Start, wanted: DesiredInstance) -> None:
    start_agent()
    market.until(lambda report: bool(market.waits))
    spans = []
    for number in range(20):
        order = replace(wanted, id=f"{number:032x}", gpu_uuids=[], ports=[(22, 40000 + number)])
        begun = market.want(order)
        market.until_phase(order.id, "running")
        spans.append(market.arrived_at[-1] - begun)
    print(f"order → running: p50 {statistics.median(spans) * 1000:.1f} ms, worst {max(spans) * 1000:.1f} ms")
    assert statistics.median(spans) < 0.1
