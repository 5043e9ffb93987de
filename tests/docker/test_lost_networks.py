"""A network, or its bridge, that somebody removes on the host: a stopped instance starts all the same, a running one is
reached again."""

import subprocess
from collections.abc import Callable
from dataclasses import replace

import pytest

from agents.daemon.docker_engine.container_spec import bridge_name, network_name
from agents.protocol.messages import DesiredInstance
from tests.docker.conftest import Host, Ssh, eventually

pytestmark = pytest.mark.docker


def remove_network(host: Host, order: DesiredInstance) -> None:
    host.engine.remove_network(network_name(order.id))  # as `docker network prune` does


def remove_bridge(host: Host, order: DesiredInstance) -> None:
    """The engine goes on to list the network, and connects nothing to it."""
    subprocess.run(["ip", "link", "delete", bridge_name(order.id)], check=True)


@pytest.mark.parametrize("remove", [remove_network, remove_bridge])
def test_of_a_stopped_instance(
    host: Host, order: DesiredInstance, ssh: Ssh, remove: Callable[[Host, DesiredInstance], None]
) -> None:
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    ssh.must(order, "echo kept >/root/file")
    host.market.want(replace(order, generation=2, run="stopped"))
    host.market.until_phase(order.id, "stopped", 2)
    remove(host, order)
    again = replace(order, generation=3)
    host.market.want(again)
    host.market.until_phase(order.id, "running", 3)
    assert ssh.must(again, "cat /root/file") == "kept\n"


@pytest.mark.parametrize("remove", [remove_network, remove_bridge])
def test_of_a_running_instance(
    host: Host, order: DesiredInstance, ssh: Ssh, remove: Callable[[Host, DesiredInstance], None]
) -> None:
    host.market.report_interval_s = 1.0
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    started = host.inspect(order)["State"]["StartedAt"]
    host.engine.disconnect_container_from_network(f"berth-{order.id}-1", network_name(order.id), force=True)
    remove(host, order)
    eventually(lambda: ssh.run(order, "true").returncode == 0, "SSH answers again", 30.0)
    host.market.until_phase(order.id, "running", 1)
    seen = [row.phase for report in host.market.reports for row in report.instances if row.id == order.id]
    assert "unknown" in seen, "what nobody reached was not reported as running"
    assert host.inspect(order)["State"]["StartedAt"] == started, "its programs went on"
