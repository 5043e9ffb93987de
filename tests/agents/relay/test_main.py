"""The program itself: it starts from its environment alone, and Ctrl-C ends it although someone waits."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from agents.protocol.tickets import sign_ticket
from agents.relay.config import MissingSetting, read_config

from .conftest import PATIENCE_S, SECRET, free_port, wait_until

ROOT = Path(__file__).parents[3]


class Program:
    """`python -m agents.relay` in a process of its own."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-W", "error", "-m", "agents.relay", "--host", "127.0.0.1", "--port", str(port)]
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)

    def health(self) -> dict[str, object]:
        try:
            reply: dict[str, object] = httpx.get(f"{self.url}/healthz").json()
        except httpx.TransportError:
            return {}
        return reply


@pytest.fixture
def program() -> Iterator[Program]:
    settings = {"REDIS_URL": os.environ["REDIS_URL"], "RELAY_SECRET": SECRET, "PATH": os.environ["PATH"]}
    running = Program(settings)
    yield running
    running.process.kill()
    running.process.communicate()


@pytest.mark.parametrize("order", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_once_although_agents_wait(program: Program, topic: str, order: signal.Signals) -> None:
    wait_until(lambda: program.health().get("redis") is True)
    query = {"since": "0", "ticket": sign_ticket(SECRET, topic=topic, expires_at=2**33)}
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(httpx.get, f"{program.url}/agent/v1/wait", params=query, timeout=PATIENCE_S)
        wait_until(lambda: program.health().get("waiters") == 1)
        began = time.monotonic()
        program.process.send_signal(order)
        assert waiting.result().json() == {"version": 0}
        _, log = program.process.communicate(timeout=PATIENCE_S)
    assert time.monotonic() - began < 10, "a hold is 20 to 30 s: it must not be waited for"
    assert "Traceback" not in log
    assert "ticket" not in log


def test_it_does_not_start_without_its_secret() -> None:
    program = Program({"REDIS_URL": "redis://127.0.0.1:1", "PATH": os.environ["PATH"]})
    _, log = program.process.communicate(timeout=PATIENCE_S)
    assert program.process.returncode == 1
    assert log.strip() == "berth-relay: Set the environment variable RELAY_SECRET."


def test_settings_come_from_the_environment_or_from_files(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("from a file\n", encoding="utf-8")
    environment = {
        "REDIS_URL": "redis://r",
        "RELAY_SECRET_FILE": str(tmp_path / "secret"),
        "RELAY_ORIGIN": "https://a.example/, https://b.example",
    }
    config = read_config(environment)
    assert config.secret == "from a file"
    assert config.origins == ("https://a.example", "https://b.example")
    with pytest.raises(MissingSetting, match="REDIS_URL"):
        read_config({"RELAY_SECRET": "x"})


def test_it_needs_neither_django_nor_a_database() -> None:
    check = "import sys, agents.relay.routes; assert not {'django', 'psycopg2', 'celery'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", check], cwd=ROOT, check=True)
