"""A web server and a relay on free ports of this machine, for browsers."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agents.relay.__main__ import build_server
from agents.relay.config import RelayConfig
from agents.relay.routes import build_app
from tests.web import steady_chromium

CHROMIUM = Path(steady_chromium.__file__)
CHROMIUM_FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-dev-shm-usage"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def relay(*, port: int, secret: str, origin: str) -> Iterator[None]:
    config = RelayConfig(redis_url=os.environ["REDIS_URL"], secret=secret, origins=(origin,))
    server = build_server(build_app(config), host="127.0.0.1", port=port)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started:
        if time.monotonic() > deadline:
            raise RuntimeError("the relay did not start within a minute")
        time.sleep(0.02)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(timeout=10)
