"""Ways in that change while the instance runs: keys, root's password, addresses; and its log."""

import json
import os
import shlex
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agents.daemon.docker_engine.container_spec import bridge_name
from agents.daemon.docker_engine.ssh_allow_list import chain_name
from agents.protocol.messages import DesiredInstance, OperationOrder
from instances.core.passwords import hash_password
from tests.agents.daemon.market import renamed
from tests.docker.conftest import Host, Ssh, eventually, free_port

pytestmark = pytest.mark.docker  # one engine, one firewall

QUIET = ("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR")
OUTSIDE, INSIDE = "198.18.77.1", "198.18.77.2"  # of the range for benchmarks: the host's and a visitor's


def new_key(folder: Path, name: str) -> Ssh:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    return Ssh(folder / name)


def public(ssh: Ssh) -> str:
    return ssh.key.with_suffix(".pub").read_text().strip()


def by_password(order: DesiredInstance, folder: Path, password: str) -> bool:
    """Whether OpenSSH's own client gets in with it, asked as a person is."""
    answer = folder / "answer"
    answer.write_text(f"#!/bin/sh\necho '{password}'\n")
    answer.chmod(0o700)
    command = ["setsid", "ssh", *QUIET, "-o", "PubkeyAuthentication=no", "-o", "NumberOfPasswordPrompts=1"]
    command += ["-o", "ConnectTimeout=5", "-p", str(dict(order.ports)[22]), "root@127.0.0.1", "whoami"]
    asking = {**os.environ, "SSH_ASKPASS": str(answer), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": "none"}
    done = subprocess.run(command, env=asking, capture_output=True, text=True, timeout=30, check=False)
    return done.stdout.strip() == "root"


def test_keys_and_the_password_change_while_it_runs(host: Host, order: DesiredInstance, ssh: Ssh, tmp_path: Path) -> None:
    market = host.market
    host.start()
    market.want(order)
    market.until_phase(order.id, "running", 1)
    before = host.inspect(order)["State"]["StartedAt"]
    later = new_key(tmp_path, "later")
    assert later.run(order, "true").returncode != 0
    assert not by_password(order, tmp_path, "")

    order = replace(order, ssh_keys=[public(later)])
    market.want(order)
    eventually(lambda: later.run(order, "true").returncode == 0, "the new key lets in")
    assert ssh.run(order, "true").returncode != 0

    order = replace(order, password_hash=hash_password("correct horse"))
    market.want(order)
    eventually(lambda: by_password(order, tmp_path, "correct horse"), "the password lets in")
    assert not by_password(order, tmp_path, "wrong horse")
    assert later.run(order, "stat -c %a /run/berth/password").stdout.strip() == "600"

    order = replace(order, password_hash=hash_password("another horse"))
    market.want(order)
    eventually(lambda: by_password(order, tmp_path, "another horse"), "the new password lets in")
    assert not by_password(order, tmp_path, "correct horse")

    order = replace(order, password_hash="")
    market.want(order)
    eventually(lambda: later.run(order, "test ! -e /etc/ssh/sshd_config.d/00-password.conf").returncode == 0, "keys alone")
    assert not by_password(order, tmp_path, "another horse")
    assert host.inspect(order)["State"]["StartedAt"] == before  # all of that without a restart


@pytest.fixture
def visitor() -> Iterator[str]:
    """A network namespace with an address of its own, as someone from outside the host."""
    name, link = f"visit{uuid.uuid4().hex[:6]}", f"v{uuid.uuid4().hex[:8]}"

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    ip("netns", "add", name)
    try:
        ip("link", "add", link, "type", "veth", "peer", "name", f"{link}p", "netns", name)
        ip("addr", "add", f"{OUTSIDE}/30", "dev", link)
        ip("link", "set", link, "up")
        ip("-n", name, "addr", "add", f"{INSIDE}/30", "dev", f"{link}p")
        ip("-n", name, "link", "set", f"{link}p", "up")
        yield name
    finally:
        ip("netns", "del", name)


def banner(visitor: str, order: DesiredInstance, port: int) -> bool:
    reach = f"import socket; print(socket.create_connection(('{OUTSIDE}', {dict(order.ports)[port]}), 2).recv(4).decode())"
    done = subprocess.run(
        ["ip", "netns", "exec", visitor, "python3", "-c", reach], capture_output=True, text=True, timeout=20, check=False
    )
    return done.stdout.strip() == "SSH-"


def answers_at(address: str, order: DesiredInstance) -> bool:
    """Whether SSH answers somebody on this very machine who comes to it at this address."""
    try:
        with socket.create_connection((address, dict(order.ports)[22]), 2) as way:
            return way.recv(4) == b"SSH-"
    except OSError:
        return False


ECHO = """
import shlex
import socket
both = [socket.socket(type=kind) for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM)]
for one in both:
    one.bind(("", 5353))
both[1].listen()
while True:
    packet, sender = both[0].recvfrom(2048)
    both[0].sendto(packet[::-1], sender)
    both[1].accept()[0].sendall(packet)
"""


def test_a_udp_port_answers_from_outside_with_tcp_beside_it(
    host: Host, new_order: Callable[..., DesiredInstance], ssh: Ssh, visitor: str
) -> None:
    host.config = replace(host.config, listen="0.0.0.0")
    host.start()
    order = new_order(host, ports=[(22, free_port()), (5353, free_port())], udp_ports=[5353])
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    ssh.must(order, f"setsid python3 -c {shlex.quote(ECHO)} >/dev/null 2>&1 </dev/null &")
    place = (OUTSIDE, dict(order.ports)[5353])
    asks = f"""
import shlex
import socket
way = socket.socket(type=socket.SOCK_DGRAM)
way.settimeout(2)
way.sendto(b"abc", {place})
print(way.recvfrom(2048), socket.create_connection({place}, 2).recv(3))
"""

    def answered() -> bool:
        line = ["ip", "netns", "exec", visitor, "python3", "-c", asks]
        done = subprocess.run(line, capture_output=True, text=True, timeout=20, check=False)
        return done.stdout.strip() == f"(b'cba', {place}) b'abc'"

    eventually(answered, "both protocols answer at one number")
    host.market.want(replace(order, run="gone", fence=2))
    host.market.until_absent(order.id)


@pytest.mark.parametrize("address", ["127.0.0.1", OUTSIDE])
def test_the_list_holds_for_what_the_engine_s_proxy_carries(
    host: Host, order: DesiredInstance, visitor: str, address: str
) -> None:
    """Loopback never passes the chains of forwarded packets: the engine's proxy takes it, or the host translates its own."""
    host.config = replace(host.config, listen="0.0.0.0")
    market = host.market
    host.start()
    order = replace(order, allow_from=["203.0.113.0/24"])
    market.want(order)
    market.until_phase(order.id, "running", 1)  # the agent's own look at sshd is not shut out
    assert not answers_at(address, order)
    order = replace(order, allow_from=["203.0.113.0/24", f"{address}/32"])
    market.want(order)
    eventually(lambda: answers_at(address, order), "who is on the list gets in")
    order = replace(order, allow_from=["203.0.113.0/24"])
    market.want(order)
    eventually(lambda: not answers_at(address, order), "who is taken off it is shut out")
    market.want(replace(order, run="gone", fence=2))
    market.until_absent(order.id)
    rules = subprocess.run(["iptables", "--wait", "-S"], check=True, capture_output=True, text=True).stdout
    assert chain_name(bridge_name(order.id)) not in rules


def test_only_addresses_on_the_list_reach_ssh(host: Host, order: DesiredInstance, visitor: str) -> None:
    host.config = replace(host.config, listen="0.0.0.0")
    market, chain = host.market, chain_name(bridge_name(order.id))
    host.start()
    order = replace(order, allow_from=["203.0.113.0/24"])
    market.want(order)
    market.until_phase(order.id, "running", 1)
    assert not banner(visitor, order, 22)

    order = replace(order, allow_from=["203.0.113.0/24", f"{INSIDE}/32", "2001:db8::/32"])
    market.want(order)
    eventually(lambda: banner(visitor, order, 22), "who is on the list gets in")

    # Someone empties the firewall while the agent is away: its next start puts the gate back.
    host.stop()
    order = replace(order, allow_from=["203.0.113.0/24"])
    market.want(order)
    subprocess.run(["iptables", "--wait", "-F", chain], check=True)
    assert banner(visitor, order, 22)
    host.start()
    eventually(lambda: not banner(visitor, order, 22), "the gate stands again")

    order = renamed(replace(order, allow_from=[]))
    market.want(order)
    market.until_phase(order.id, "running", 2)
    eventually(lambda: banner(visitor, order, 22), "without a list everyone gets in")

    order = replace(order, allow_from=["203.0.113.0/24"])
    market.want(order)
    eventually(lambda: not banner(visitor, order, 22), "the list holds at once")
    market.want(replace(order, run="gone", fence=2))
    market.until_absent(order.id)
    rules = subprocess.run(["iptables", "--wait", "-S"], check=True, capture_output=True, text=True).stdout
    assert chain not in rules


def test_the_log_is_searched_on_the_host(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    market = host.market
    host.start()
    market.want(order)
    market.until_phase(order.id, "running", 1)
    script = "for n in 1 2 3; do printf 'Epoch %s \\033[32mdone\\033[0m\\n' $n; done; printf '10%%\\r20%%\\n日志\\n'"
    ssh.must(order, f"{{ {script}; }} >/proc/1/fd/1")

    def read(**search: str) -> list[str]:
        log_order = OperationOrder(uuid.uuid4().hex, "read_log", {"instance": order.id, **search})
        market.streams = lambda: {"operations": [log_order]}
        market.want(order)
        report = market.until(
            lambda report: any(row.id == log_order.id and row.phase != "running" for row in report.operations)
        )
        (row,) = report.operations
        assert row.phase == "done", row.detail
        return [text for _, text in json.loads(row.outcome["lines"])]

    assert read(tail="5") == ["Epoch 1 done", "Epoch 2 done", "Epoch 3 done", "20%", "日志"]
    assert read(tail="2", q="EPOCH") == ["Epoch 2 done", "Epoch 3 done"]
    assert read(tail="5", since=str(time.time() + 60)) == []
    ssh.run(order, "true")
    # What sshd says is there too, if not at once: the engine takes it up without keeping the program waiting.
    eventually(lambda: any("Accepted publickey for root" in line for line in read(q="accepted")), "sshd's own words")
    market.want(replace(order, run="stopped"))
    market.until_phase(order.id, "stopped")
    assert read(q="日志") == ["日志"]
