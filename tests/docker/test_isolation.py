"""What an instance can reach: the way out, and nothing of its neighbours or its host."""

import socket
import subprocess
import threading
from collections.abc import Callable

import pytest

from agents.daemon.docker_engine.firewall import Firewall, jumps, resolvers_of, rules
from agents.protocol.messages import DesiredInstance
from tests.docker.conftest import Host, Ssh

pytestmark = pytest.mark.docker  # one engine, one firewall


def _reaches(ssh: Ssh, order: DesiredInstance, address: str, port: int) -> bool:
    tried = ssh.run(order, f"timeout 1 bash -c '</dev/tcp/{address}/{port}' && echo reached", timeout=20)
    return "reached" in tried.stdout


def test_fault_094_instances_reach_neither_each_other_nor_the_host(
    host: Host, order: DesiredInstance, new_order: Callable[..., DesiredInstance], ssh: Ssh
) -> None:
    assert host.market.facts is not None
    other = new_order(host, gpu_uuids=[host.market.facts.gpus[1].uuid])
    host.start()
    host.market.want(order, other)
    host.market.until_phase(order.id, "running", 1)
    host.market.until_phase(other.id, "running", 1)
    addresses = {item.id: host.inspect(item)["NetworkSettings"]["Networks"][f"berth-{item.id}"] for item in (order, other)}
    assert _reaches(ssh, order, "127.0.0.1", 22), "the probe itself works"
    assert not _reaches(ssh, order, addresses[other.id]["IPAddress"], 22)
    assert not _reaches(ssh, other, addresses[order.id]["IPAddress"], 22)
    gateway = addresses[order.id]["Gateway"]
    with socket.create_server((gateway, 0)) as listener:
        threading.Thread(target=_accept_quietly, args=(listener,), daemon=True).start()
        assert not _reaches(ssh, order, gateway, listener.getsockname()[1])
        with socket.create_connection((gateway, listener.getsockname()[1]), timeout=2):
            pass  # the host itself reaches it: it was the firewall


def test_names_are_resolved_inside(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    # Any answer, even "no such name", proves that the resolver was reached; a blocked one times out.
    answer = ssh.run(order, "timeout 15 getent ahostsv4 debian.org; echo code $?", timeout=30)
    assert "code 124" not in answer.stdout


def test_the_rules_stand_and_come_back(engine: object) -> None:
    firewall = Firewall()
    assert firewall.assert_rules()
    subprocess.run(["iptables", "-w", "-F", "BERTH"], check=True)
    subprocess.run(["iptables", "-w", "-D", "INPUT", *jumps()[1][1].split()], check=True)
    assert firewall.assert_rules()
    shown = subprocess.run(["iptables", "-w", "-S"], check=True, capture_output=True, text=True).stdout.splitlines()
    standing = [line.strip() for line in shown if line.startswith(("-A BERTH ", "-A BERTH-IN "))]
    assert standing in (rules(resolvers_of(firewall.resolv_conf)), rules(resolvers_of(firewall.resolv_conf), rate=False))
    for chain, rule in jumps():
        assert f"-A {chain} {rule}" in shown
    lines = [line for line in shown if line.startswith("-A DOCKER-USER") and "-j BERTH-" not in line]
    assert lines[0].endswith("-j BERTH")  # after the gates of single instances, which let nobody in by themselves


def _accept_quietly(listener: socket.socket) -> None:
    try:
        while True:
            listener.accept()[0].close()
    except OSError:
        return
