"""`make up` as a whole: it starts, answers, keeps its data, mends itself, and leaves nothing behind."""

import json
import socket
import subprocess
import sys
import time

import httpx
import psutil
import pytest

from tests.ops.conftest import ROOT, Up, wait_until

pytestmark = [pytest.mark.stack, pytest.mark.timeout(400)]
START_WITHIN_S = 180  # the first start of a machine that runs other tests beside it
FLEET_SIZE = 20
PARTS = ("postgres -D", "redis-server", "agents.relay", "granian", "celery -A config beat", "celery -A config worker")


def test_start_stop_and_start_again(stack: Up) -> None:
    stack.start()
    wait_until("/readyz", stack.ready, START_WITHIN_S)
    assert httpx.get(f"{stack.url}/healthz").status_code == 200
    wait_until("the greeting", stack.up, START_WITHIN_S)
    demo = json.loads((stack.state / "demo.json").read_text())
    assert demo["url"] == stack.url
    assert {role: sorted(user) for role, user in demo["users"].items()} == {
        role: ["email", "password", "token"] for role in ("renter", "host", "admin")
    }
    renter = {"Authorization": f"Bearer {demo['users']['renter']['token']}"}
    assert httpx.get(f"{stack.url}/api/v1/wallet", headers=renter).json()["balance"] == "1000.00"
    wait_until("the market", lambda: len(offers(stack)) >= FLEET_SIZE, 60)
    assert all(offer["host"]["simulated"] for offer in offers(stack))

    second = run(stack, PORT=str(stack.port + 5))
    assert second.returncode == 1
    assert "already runs" in second.stderr

    before = [stack.processes(words)[0] for words in PARTS]
    for process in before:
        process.kill()
    wait_until("all parts again", lambda: all(new_one(stack, *pair) for pair in zip(PARTS, before, strict=True)), 60)
    wait_until("/readyz again", stack.ready, 60)
    wait_until("the relay again", lambda: answers(f"http://127.0.0.1:{stack.port + 1}/healthz"), 60)

    began = time.monotonic()
    assert stack.stop() == 0
    assert time.monotonic() - began < 30
    assert stack.processes() == []

    stack.lines.write_text("")
    stack.start()
    assert wait_until("/readyz", stack.ready, START_WITHIN_S) < 60  # 15 s on a machine that does nothing else
    wait_until("the greeting", stack.up, START_WITHIN_S)
    assert json.loads((stack.state / "demo.json").read_text()) == demo
    assert httpx.get(f"{stack.url}/api/v1/wallet", headers=renter).json()["balance"] == "1000.00"

    down = run(stack, "down")
    assert (down.returncode, down.stdout.strip()) == (0, "Berth has stopped.")
    assert stack.process is not None
    assert stack.process.wait(60) == 0
    assert stack.processes() == []
    assert run(stack, "down").stdout.strip() == "Berth is not running."


def test_nothing_survives_a_killed_supervisor(stack: Up) -> None:
    stack.start()
    wait_until("web", lambda: stack.processes("granian") and stack.processes("agents.relay"), START_WITHIN_S)
    assert stack.process is not None
    stack.process.kill()
    stack.process.wait(60)
    wait_until("everything has ended", lambda: not stack.processes(), 30)


@pytest.mark.parametrize("offset", [0, 1, 2])
def test_taken_port_is_told_before_anything_starts(stack: Up, offset: int) -> None:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", stack.port + offset))
        other.listen()
        refused = run(stack)
    assert refused.returncode == 1
    assert f"port {stack.port + offset} is taken" in refused.stderr
    assert "PORT=" in refused.stderr
    assert not (stack.state / "postgres").exists()


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none"),
        ("DATABASE_URL", "mysql://127.0.0.1/none"),
        ("REDIS_URL", "redis://127.0.0.1:1/0"),
        ("REDIS_URL", "127.0.0.1"),
    ],
)
def test_own_server_that_cannot_be_used_is_told_before_anything_starts(stack: Up, name: str, address: str) -> None:
    refused = run(stack, **{name: address})
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"Berth did not start: {name} is set, and the ")
    assert f"`unset {name}`" in refused.stderr
    assert not (stack.state / "postgres").exists()


def test_broken_setting_is_told(stack: Up) -> None:
    refused = run(stack, MARKET_MAX_AGE_MS="soon")
    assert refused.returncode == 1
    assert "MARKET_MAX_AGE_MS" in refused.stderr
    assert "the preparation failed" in refused.stderr
    assert stack.processes() == []


def offers(stack: Up) -> list[dict[str, dict[str, object]]]:
    reply = httpx.get(f"{stack.url}/api/v1/offers?limit=100")
    found: list[dict[str, dict[str, object]]] = reply.raise_for_status().json()["results"]
    return found


def run(stack: Up, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "devserver", *words]
    return subprocess.run(
        command, cwd=ROOT, env=stack.environment(**more), capture_output=True, text=True, timeout=120, check=False
    )


def new_one(stack: Up, words: str, old: psutil.Process) -> bool:
    found = stack.processes(words)
    return bool(found) and found[0].pid != old.pid


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).is_success
    except httpx.HTTPError:
        return False
