"""A network between a terminal and a whole market that loses answers: the market has acted, and the asker isn't told."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx


@dataclass
class Network:
    """Which requests lose their answer, how often, and how many did."""

    url: str = ""
    path: str = "/api/v1/instances"
    method: str = "POST"
    losses: int = 0
    lost: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    before: Callable[[str, str], None] = field(default=lambda method, path: None)  # told of a request; OSError: it is lost
    after: Callable[[str, str], None] = field(default=lambda method, path: None)  # told when the market has answered it

    def loses(self, method: str, path: str) -> bool:
        with self.lock:
            if (method, path) != (self.method, self.path) or self.lost >= self.losses:
                return False
            self.lost += 1
            return True


class _Relay(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    network: Network
    market: str

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with suppress(OSError):
            self.network.before(self.command, self.path)
            self.pass_on(body)
            return
        self.close_connection = True

    def pass_on(self, body: bytes) -> None:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        answer = httpx.request(self.command, self.market + self.path, content=body, headers=headers, timeout=60)
        self.network.after(self.command, self.path)
        if self.network.loses(self.command, self.path.partition("?")[0]):
            self.close_connection = True
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(answer.status_code)
        for name in ("Content-Type", "Retry-After"):
            if name in answer.headers:
                self.send_header(name, answer.headers[name])
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward


@contextmanager
def bad_network(market: str) -> Iterator[Network]:
    network = Network()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Relay", (_Relay,), {"network": network, "market": market}))
    server.daemon_threads = True
    network.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield network
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
