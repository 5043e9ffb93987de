"""What a renter runs, on a real engine: variables, command, user, start script, readiness; and where secrets do not lie."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agents.protocol.launch_messages import Launch, ReadinessCheck
from agents.protocol.messages import DesiredInstance, ObservedInstance, OperationOrder
from tests.agents.daemon.market import renamed
from tests.docker.conftest import Host, Ssh, eventually
from tests.docker.plain_images import PLAIN, SMALL, plain_images

__all__ = ["plain_images"]
pytestmark = pytest.mark.docker  # one engine, one firewall

PLANTED = "s3cret'pl\"ant$d\\x"
SERVER = """
from http.server import BaseHTTPRequestHandler, HTTPServer
class Answer(BaseHTTPRequestHandler):
  def do_GET(self):
    self.send_response({status})
    self.end_headers()
HTTPServer(('', 8000), Answer).serve_forever()
"""


@pytest.fixture
def host(host: Host, plain_images: None) -> Host:
    host.start()
    return host


def ran(host: Host, order: DesiredInstance) -> ObservedInstance:
    host.market.want(order)
    return host.market.until_phase(order.id, "running", order.generation)


def until(host: Host, order: DesiredInstance, true: Callable[[ObservedInstance], bool]) -> None:
    host.market.until(lambda report: any(row.id == order.id and true(row) for row in report.instances))


def inside(host: Host, order: DesiredInstance, *words: str) -> str:
    """As a person on the host would, with the engine's own program."""
    line = ["docker", "exec", f"berth-{order.id}-{order.generation}", *words]
    return subprocess.run(line, capture_output=True, text=True, check=True, timeout=30).stdout


def log_of(host: Host, order: DesiredInstance, source: str = "on_start") -> list[str]:
    wanted = OperationOrder("c" * 31 + str(order.generation % 10), "read_log", {"instance": order.id, "source": source})
    host.market.ask(wanted)
    lines = json.loads(host.market.until_done(wanted)["lines"])
    host.market.ask()
    return [text for _at, text in lines]


def saved_config(host: Host, order: DesiredInstance) -> dict[str, Any]:
    """Save an image as the renter would, and return what it says of itself; nothing in it holds the secret."""
    name = f"berth-saved/{order.id}:1"
    wanted = OperationOrder("d" * 32, "save_image", {"instance": order.id, "reference": name, "push": ""})
    host.market.ask(wanted)
    host.market.until_done(wanted)
    host.market.ask()
    found = host.engine.inspect_image(name)
    history = host.engine.history(name)
    line = ["docker", "run", "--rm", "--entrypoint", "grep", name, "-rqF", PLANTED, "/root", "/etc", "/var"]
    assert subprocess.run(line, capture_output=True, timeout=60, check=False).returncode == 1
    host.engine.remove_image(name, force=True)
    for text in (json.dumps(found), json.dumps(history)):
        assert json.dumps(PLANTED)[1:-1] not in text
    return dict(found["Config"])


def gone(host: Host, order: DesiredInstance) -> None:
    host.market.want(replace(order, run="gone"))
    host.market.until_absent(order.id)
    assert host.leftovers(order) == []
    host.market.forget(order.id)


def full(**changes: Any) -> Launch:
    launch = Launch(
        env={"MODEL": "tiny", "LINES": "one\ntwo", "dotted.name": "x y"},
        secrets={"TOKEN": PLANTED},
        secrets_digest="ab" * 32,
        command=["/bin/sh", "-c", "env >/tmp/main; id -u >>/tmp/main; pwd >>/tmp/main; exec sleep 100000"],
        workdir="/workspace",
        user="1000:1000",
        shm_mb=70,
        on_start="echo script as $(id -u) with $MODEL; echo bad >&2; exit 3",
    )
    return replace(launch, **changes)


def test_a_start_script_without_a_command_has_its_folder(host: Host, new_order: Callable[..., DesiredInstance]) -> None:
    order = new_order(host, launch=Launch(workdir="/new/folder", on_start="pwd"))
    ran(host, order)
    until(host, order, lambda row: row.on_start is not None and row.on_start.state == "ended")
    assert log_of(host, order) == ["/new/folder"]
    gone(host, order)


def test_an_official_image(host: Host, new_order: Callable[..., DesiredInstance], ssh: Ssh) -> None:
    order = new_order(host, launch=full())
    ran(host, order)
    until(
        host, order, lambda row: row.on_start is not None and row.on_start.state == "ended" and row.on_start.exit_code == 3
    )
    eventually(lambda: ssh.run(order, "tail -1 /tmp/main").stdout.strip() == "/workspace", "the command has run")
    main = ssh.must(order, "cat /tmp/main")
    assert "MODEL=tiny\n" in main
    assert f"TOKEN={PLANTED}\n" in main
    assert "LINES=one\ntwo\n" in main
    assert main.splitlines()[-2:] == ["1000", "/workspace"]
    session = ssh.must(order, "env; df -m /dev/shm | tail -1")
    assert "MODEL=tiny\n" in session
    assert f"TOKEN={PLANTED}\n" in session
    assert "dotted.name=x y" in session
    assert " 70 " in session
    assert ssh.must(order, "bash -lc 'echo \"$LINES\"'") == "one\ntwo\n"
    assert log_of(host, order) == ["script as 1000 with tiny", "bad"]
    state = host.inspect(order)
    assert PLANTED not in json.dumps(state)
    assert json.dumps(PLANTED)[1:-1] not in json.dumps(state)
    assert state["HostConfig"]["Memory"] == 512 * 1024**2

    ssh.must(order, "echo kept >/root/file; echo kept >/data/file")
    assert not saved_config(host, order)["Cmd"]
    again = replace(
        renamed(order), launch=full(env={"MODEL": "large"}, secrets={}, secrets_digest="", user="", on_start="true")
    )
    ran(host, again)
    until(host, again, lambda row: row.on_start is not None and row.on_start.exit_code == 0)
    assert ssh.must(again, "cat /root/file /data/file").split() == ["kept", "kept"]
    session = ssh.must(again, "env")
    assert "MODEL=large\n" in session
    assert "TOKEN=" not in session
    assert "dotted.name" not in session
    eventually(lambda: "LINES" not in ssh.must(again, "cat /tmp/main"), "the command has run again")
    assert ssh.must(again, "cat /tmp/main").splitlines()[-2:] == ["0", "/workspace"]
    bare = replace(renamed(again), launch=None)
    ran(host, bare)
    assert "MODEL" not in ssh.must(bare, "env; cat /proc/1/environ")
    assert host.inspect(bare)["Config"]["Cmd"] in (None, [])
    gone(host, bare)


def test_an_image_of_the_renter(host: Host, new_order: Callable[..., DesiredInstance], ssh: Ssh) -> None:
    order = new_order(host, image=PLAIN, has_ssh=False, env={}, untouched=False, launch=full(user="33"))
    ran(host, order)
    until(host, order, lambda row: row.on_start is not None and row.on_start.exit_code == 3)
    main = inside(host, order, "cat", "/tmp/main")
    assert "MODEL=tiny\n" in main
    assert f"TOKEN={PLANTED}\n" in main
    assert main.splitlines()[-2:] == ["33", "/workspace"]
    session = ssh.must(order, "env")
    assert "LINES=one\ntwo\n" in session
    assert f"TOKEN={PLANTED}\n" in session
    assert "TOKEN" in inside(host, order, "env")
    assert log_of(host, order) == ["script as 33 with tiny", "bad"]
    ssh.must(order, "echo kept >/root/file")
    again = replace(renamed(order), launch=Launch(env={"MODEL": "large"}, entrypoint=["/bin/sleep"], command=["99999"]))
    ran(host, again)
    assert ssh.must(again, "cat /root/file; env").startswith("kept\n")
    assert "TOKEN" not in ssh.must(again, "env; cat /proc/1/environ")
    assert host.inspect(again)["Config"]["Entrypoint"] == ["/bin/sleep"]
    assert PLANTED not in json.dumps(host.engine.inspect_image(host.inspect(again)["Image"]))
    bare = replace(renamed(again), launch=None)
    ran(host, bare)
    assert host.inspect(bare)["Config"]["Cmd"] == ["sleep", "infinity"]
    assert ssh.must(bare, "cat /root/file; env | grep -c MODEL || true").split() == ["kept", "0"]
    gone(host, bare)


def test_an_image_without_a_usual_shell(host: Host, new_order: Callable[..., DesiredInstance]) -> None:
    launch = Launch(env={"A": "1"}, on_start="#!/bin/ash\necho $A; exit 7", command=["sleep", "5000"], user="7:8")
    order = new_order(host, image=SMALL, has_ssh=False, env={}, untouched=False, launch=launch)
    ran(host, order)
    until(host, order, lambda row: row.on_start is not None and row.on_start.exit_code == 7)
    assert inside(host, order, "id", "-u").strip() == "7"
    gone(host, order)


def test_readiness(host: Host, new_order: Callable[..., DesiredInstance], ssh: Ssh) -> None:
    check = ReadinessCheck("http", 8000, "/health", 2)
    launch = Launch(readiness=check)
    order = new_order(host, launch=launch)
    ran(host, order)
    until(host, order, lambda row: row.ready == "starting")
    until(host, order, lambda row: row.ready == "not_ready")
    for status, expected in ((200, "ready"), (204, "starting"), (500, "not_ready")):
        code = SERVER.replace("{status}", str(status))
        ssh.must(order, "pkill -x python3; true")
        subprocess.run(
            [*ssh.line(order, f'nohup python3 -c "{code}" </dev/null >/dev/null 2>&1 & disown')], check=True, timeout=30
        )
        until(host, order, lambda row, expected=expected: row.ready == expected)  # type: ignore[misc]  # bound now
    tcp = replace(renamed(order), launch=Launch(readiness=ReadinessCheck("tcp", 22)))
    ran(host, tcp)
    until(host, tcp, lambda row: row.ready == "ready")
    gone(host, tcp)


def test_the_agent_keeps_no_secret(host: Host, new_order: Callable[..., DesiredInstance], caplog: Any) -> None:
    planted = "plain-planted-secret"
    order = new_order(host, launch=full(secrets={"TOKEN": planted}, on_start="exit 0"))
    ran(host, order)
    until(host, order, lambda row: row.on_start is not None and row.on_start.exit_code == 0)
    found = subprocess.run(["grep", "-rlI", planted, str(host.state)], capture_output=True, text=True, check=False).stdout
    assert {line.rpartition("/")[2] for line in found.split()} == {"env", "sshd.conf"}
    assert planted not in caplog.text
    assert planted not in json.dumps(host.inspect(order))
    gone(host, order)
    assert not list((host.state / "start-scripts").iterdir())
