"""A stack as `make up` starts it, in a state folder and on ports of its own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
_GIVEN = (
    "DATABASE_URL",
    "REDIS_URL",
    "DJANGO_SETTINGS_MODULE",
    "SECRET_KEY",
    "RELAY_SECRET",
    "LEDGER_SIGNING_KEY",
    "ALLOWED_HOSTS",
)


def first_free_port() -> int:
    """Of three free ones in a row, below those of outgoing connections."""
    for port in range(12_000 + os.getpid() % 5_000, 20_000, 10):
        if all(_is_free(number) for number in range(port, port + 3)):
            return port
    raise AssertionError("no free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def wait_until(what: str, true: Callable[[], object], within_s: float) -> float:
    """The seconds it took."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < within_s, f"{what}: not within {within_s:g} s"
        time.sleep(0.05)
    return time.monotonic() - began


@dataclass
class Up:
    """One state folder and what runs on it."""

    state: Path
    port: int
    process: subprocess.Popen[str] | None = None
    lines: Path = field(init=False)

    def __post_init__(self) -> None:
        self.lines = self.state.parent / "terminal"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def environment(self, **more: str) -> dict[str, str]:
        """As a shell would have it: nothing of the test run's own services, and no container engine."""
        kept = {name: value for name, value in os.environ.items() if name not in _GIVEN and not name.startswith("PYTEST_")}
        nowhere = f"unix://{self.state}/no-engine"
        return {**kept, "BERTH_STATE": str(self.state), "PORT": str(self.port), "DOCKER_HOST": nowhere, **more}

    def start(self, **more: str) -> subprocess.Popen[str]:
        with self.lines.open("a") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "devserver"],
                cwd=ROOT,
                env=self.environment(**more),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                text=True,
                start_new_session=True,
            )
        return self.process

    def ready(self) -> bool:
        assert self.process is None or self.process.poll() is None, self.lines.read_text()
        try:
            return httpx.get(f"{self.url}/readyz", timeout=5).is_success
        except httpx.HTTPError:
            return False

    def up(self) -> bool:
        assert self.process is None or self.process.poll() is None, self.lines.read_text()
        return self.lines.read_text().rstrip().count("Berth is up") > 0

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(60)

    def processes(self, words: str = "") -> list[psutil.Process]:
        """Live ones of this stack with these words in their command, oldest first. Redis overwrites its own environment, so
        it is known by its port."""
        found = []
        for process in psutil.process_iter():
            try:
                command = " ".join(process.cmdline())
                ours = str(self.state) in command or f"127.0.0.1:{self.port + 2}" in command
                ours = ours or process.environ().get("BERTH_STATE") == str(self.state)
                if ours and words in command and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return sorted(found, key=lambda process: process.create_time())


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Up]:
    """PostgreSQL runs as a user of its own and must reach its folder, which pytest keeps private."""
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    up = Up(tmp_path / "state", first_free_port())
    yield up
    if up.process is not None and up.process.poll() is None:
        up.process.kill()
        up.process.wait(30)
        wait_until("everything has ended", lambda: not up.processes(), 30)
