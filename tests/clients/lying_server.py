"""A market that behaves badly on demand: slow, flapping, cutting connections before or after it has acted."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

INSTANCE = "inst_" + "0" * 32
Trick = Callable[["Handler", bytes], None]


@dataclass
class Market:
    """What it was asked, what it did, and how it will treat the next requests."""

    port: int = 0
    tricks: list[Trick | None] = field(default_factory=list)
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    rented: dict[str, dict[str, Any]] = field(default_factory=dict)  # by idempotency key
    lock: threading.Lock = field(default_factory=threading.Lock)
    said_twice: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def keys(self) -> list[str]:
        return [headers.get("idempotency-key", "") for _, _, headers, _ in self.requests]

    def act(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, Any]:
        """Rents once for each key, as the real one does."""
        if method == "POST" and path.startswith("/api/v1/ssh-keys"):
            key = headers.get("idempotency-key") or f"none-{len(self.rented)}"
            with self.lock:
                number = len(self.rented) + 1
                made = {"id": f"key_{number}", "name": "k", "kind": "ssh-ed25519", "public_key": "x"}
                made |= {"fingerprint": "SHA256:x", "created_at": "2026-11-26T00:00:00Z"}
                return 201, self.rented.setdefault(key, made)
        if method == "DELETE":
            with self.lock:
                gone = "gone" in self.rented
                self.rented["gone"] = {}
            return (
                (404, {"code": "not_found", "detail": "There is none.", "title": "", "status": 404, "errors": []})
                if gone
                else (204, None)
            )
        if path.startswith("/api/v1/me"):
            return 200, {
                "id": "user_1",
                "email": "a@b.c",
                "display_name": "A",
                "is_host_owner": False,
                "date_joined": "2026-11-26T00:00:00Z",
            }
        return 404, {"code": "not_found", "detail": "There is none.", "title": "Not found", "status": 404, "errors": []}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    market: Market

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.market.requests.append((self.command, self.path, headers, body))
        trick = self.market.tricks.pop(0) if self.market.tricks else None
        if trick is not None:
            trick(self, body)
        else:
            self.act()

    def act(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.send(*self.market.act(self.command, self.path, headers))

    def send(self, status: int, value: Any, **headers: str) -> None:
        body = b"" if value is None else value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        kind = "application/json" if status < 400 else "application/problem+json"
        for name, text in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(body)

    def cut(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer


# -- tricks


def cut_before(handler: Handler, _: bytes) -> None:
    """Nothing is done, nothing is said."""
    handler.cut()


def cut_after(handler: Handler, _: bytes) -> None:
    """It has acted, and nobody is told."""
    headers = {name.lower(): value for name, value in handler.headers.items()}
    handler.market.act(handler.command, handler.path, headers)
    handler.cut()


def half_reply(handler: Handler, _: bytes) -> None:
    """It has acted; the answer ends in the middle."""
    headers = {name.lower(): value for name, value in handler.headers.items()}
    status, value = handler.market.act(handler.command, handler.path, headers)
    body = json.dumps(value).encode()
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[: len(body) // 2])
    handler.cut()


def half_json(handler: Handler, _: bytes) -> None:
    """It has acted; the answer is whole by its length, and half by its contents, as from a proxy that gave up."""
    headers = {name.lower(): value for name, value in handler.headers.items()}
    status, value = handler.market.act(handler.command, handler.path, headers)
    handler.send(status, json.dumps(value).encode()[:20])


def silence(handler: Handler, _: bytes) -> None:
    """It has acted, and then says nothing for a long time."""
    headers = {name.lower(): value for name, value in handler.headers.items()}
    handler.market.act(handler.command, handler.path, headers)
    handler.connection.settimeout(30)
    handler.rfile.read(1)  # until the client gives up
    handler.close_connection = True


def drip(handler: Handler, _: bytes) -> None:
    """A byte every 50 ms, for as long as anyone listens: no single read takes long."""
    pause = threading.Event()
    try:
        for byte in b"HTTP/1.1 200 OK\r\nX-Padding: " + b"x" * 2000:
            handler.wfile.write(bytes([byte]))
            handler.wfile.flush()
            pause.wait(0.05)
    except OSError:
        pass
    handler.close_connection = True


def status(code: int, **headers: str) -> Trick:
    def trick(handler: Handler, _: bytes) -> None:
        problem = {"code": "busy", "detail": "Too busy.", "title": "Busy", "status": code, "errors": []}
        handler.send(code, problem, **headers)

    return trick


def page(code: int) -> Trick:
    """A proxy's page instead of the market's answer."""

    def trick(handler: Handler, _: bytes) -> None:
        handler.send(code, b"<html>Bad gateway</html>")

    return trick


def duplicate(handler: Handler, _: bytes) -> None:
    """The same answer twice on one connection: the second must not be taken for the next request's."""
    headers = {name.lower(): value for name, value in handler.headers.items()}
    code, value = handler.market.act(handler.command, handler.path, headers)
    handler.send(code, value)
    with suppress(OSError):
        handler.send(code, value)
    handler.market.said_twice.set()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that give up are what this is for."""


@contextmanager
def lying_market() -> Iterator[Market]:
    market = Market()
    handler = type("Handler", (Handler,), {"market": market})
    server = _Server(("127.0.0.1", 0), handler)
    market.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield market
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
