"""Notice of a spot rent on a real engine: the file in the container, and the signal to who catches it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from agents.protocol.messages import DesiredInstance
from tests.docker.conftest import Host, Ssh, eventually

pytestmark = pytest.mark.docker  # one engine, one firewall
NewOrder = Callable[..., DesiredInstance]

# Saves its work when it is told to; and what does not know signals must live on.
SAVER = """
import signal, sys, time
def save(*_):
    open("/data/saved", "a").write(open("/run/berth/preempt.json").read())
signal.signal(signal.SIGTERM, save)
open("/data/ready", "w").write("1")
while True:
    time.sleep(0.1)
"""


def test_a_notice_is_read_inside_the_container_and_programs_that_catch_it_are_signalled(
    host: Host, order: DesiredInstance, ssh: Ssh
) -> None:
    market = host.market
    host.start()
    market.want(order)
    market.until_phase(order.id, "running", 1)
    before = host.inspect(order)["State"]["StartedAt"]
    assert ssh.run(order, "cat /run/berth/preempt.json").returncode != 0
    ssh.must(order, f"cat >/root/saver.py <<'EOF'\n{SAVER}\nEOF")
    ssh.must(
        order,
        "setsid nohup python3 /root/saver.py >/dev/null 2>&1 </dev/null & "
        "setsid nohup python3 -c 'import time; time.sleep(600)' >/dev/null 2>&1 </dev/null & "
        "tmux new-session -d -s work 'sleep 500'",
    )
    eventually(lambda: ssh.run(order, "cat /data/ready").returncode == 0, "the program is ready")

    noticed = replace(order, preempt_at=1_790_000_120)
    market.want(noticed)
    eventually(lambda: ssh.run(order, "cat /data/saved").returncode == 0, "the program was signalled")
    notice = '{"reason": "spot", "preempt_at": "2026-09-21T14:15:20Z", "preempt_at_unix": 1790000120}'
    assert ssh.must(order, "cat /run/berth/preempt.json").strip() == notice
    assert ssh.must(order, "cat /data/saved").strip() == notice  # once, and the file was there first
    living = ssh.must(order, "pgrep -af 'time.sleep|tmux|sleep 500|sshd'")
    assert all(word in living for word in ("time.sleep(600)", "tmux", "sleep 500", "sshd"))

    market.want(replace(noticed, ssh_keys=[*order.ssh_keys, "ssh-ed25519 AAAA other"]))  # no second signal
    eventually(lambda: "other" in ssh.must(order, "cat /run/berth/authorized_keys"), "the keys are rewritten")
    market.want(order)
    eventually(lambda: ssh.run(order, "cat /run/berth/preempt.json").returncode != 0, "the notice is taken back")
    assert ssh.must(order, "cat /data/saved").count("reason") == 1
    assert host.inspect(order)["State"]["StartedAt"] == before
    assert market.until_phase(order.id, "running", 1)
