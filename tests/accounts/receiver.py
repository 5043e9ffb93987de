"""A program that listens for webhooks on this machine and checks them as its author would."""

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    """What it heard, and what it answers from now on."""

    url: str = ""
    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    heard: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)

    @property
    def kinds(self) -> list[str]:
        return [self.message(place)["type"] for place in range(len(self.heard))]

    def message(self, place: int = -1) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.heard[place][1])
        return found

    def trusts(self, secret: str, place: int = -1) -> bool:
        """By the definition of standardwebhooks.com, written down here a second time."""
        headers, body = self.heard[place]
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        key = base64.b64decode(secret.removeprefix("whsec_"))
        right = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        return right in headers["webhook-signature"].split(" ")


@contextmanager
def listening() -> Iterator[Receiver]:
    receiver = Receiver()
    receiver.gate.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.heard.append(({name.lower(): value for name, value in self.headers.items()}, body))
            receiver.gate.wait(20)
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    receiver.url = f"http://127.0.0.1:{server.server_port}/berth"
    try:
        yield receiver
    finally:
        receiver.gate.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
