"""A host's streams without an engine: its doors lead to programs of this machine, its shells to what a test says."""

import base64
import hashlib
import hmac
import json
import os
import shutil
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from uuid import UUID, uuid4

from agents.daemon.engine.exec_interface import Command, ExecInterface, Terminal
from agents.daemon.streams.stream_server import StreamServer
from agents.protocol.messages import DesiredInstance, DesiredState, Tunnel
from agents.protocol.stream_grants import PURPOSE, Grant
from agents.protocol.tickets import sign_ticket
from tests.agents.daemon.local_programs import LocalCommand

SLIP_KEY = "5a" * 32


def sealed_grant(
    instance: str, kind: str, *, port: int = 0, key: str = SLIP_KEY, lifetime_s: float = 60, **more: object
) -> str:
    wanted = Grant(uuid4().hex, instance, kind, int(time.time() + lifetime_s), port)
    body = json.dumps({**asdict(wanted), **more}).encode()
    seal = hmac.digest(bytes.fromhex(key), PURPOSE + body, hashlib.sha256)
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (body, seal))


class Shell:
    """A terminal whose other end the test holds."""

    first = b"$ "

    def __init__(self) -> None:
        self.connection, self.inside = socket.socketpair()
        self.inside.settimeout(10)
        self.sizes: list[tuple[int, int]] = []

    def resize(self, columns: int, rows: int) -> None:
        self.sizes.append((columns, rows))

    def exit_code(self) -> int | None:
        return 7

    def heard(self, count: int) -> bytes:
        """The next so many bytes that were typed."""
        received = b""
        while len(received) < count:
            received += self.inside.recv(count - len(received))
        return received


class FakeContainers:
    """Exec interface of one pretended host."""

    def __init__(self) -> None:
        self.ports: dict[int, int] = {}
        self.shells: list[Shell] = []
        self.hung_up: list[Sequence[str]] = []
        self.env: dict[str, str] = {}  # of commands

    def connect(self, instance: str, port: int) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.ports.get(port, 1)), timeout=5)

    def terminal(self, instance: str, session: str, size: tuple[int, int]) -> Terminal:
        shell = Shell()
        shell.resize(*size)
        self.shells.append(shell)
        return shell

    def command(self, instance: str, words: Sequence[str], env: Mapping[str, str]) -> Command:
        return LocalCommand(words, {**env, **self.env})

    def hang_up(self, instance: str, keep: Sequence[str]) -> None:
        self.hung_up.append(keep)

    def close(self) -> None:
        for shell in self.shells:
            shell.inside.close()


class StreamHost:
    """One host whose agent follows what the test tells it."""

    def __init__(
        self, url: str, secret: str, containers: "FakeContainers | None" = None, exec_interface: ExecInterface | None = None
    ) -> None:
        self.id, self.instance = uuid4().hex, uuid4().hex
        self.key = SLIP_KEY
        self.containers = containers or FakeContainers()
        self.streams = StreamServer(exec_interface or self.containers)
        self._url, self._secret = url.replace("http", "ws", 1) + "/relay/v1/link", secret

    @property
    def instance_id(self) -> UUID:
        return UUID(hex=self.instance)

    def sign(self, topic: str, *, lifetime_s: float = 600) -> str:
        return sign_ticket(self._secret, topic=topic, expires_at=int(time.time() + lifetime_s))

    def follow(self, *tunnels: Tunnel, run: str = "running", lifetime_s: float = 600, ahead_s: int = 0) -> None:
        self.streams.apply(
            DesiredState(
                protocol=1,
                version=1,
                wait_url="",
                wait_ticket="",
                slip_key=self.key,
                now=int(time.time()) + ahead_s,
                link_url=self._url,
                link_ticket=self.sign(f"link:{self.id}", lifetime_s=lifetime_s),
                instances=[DesiredInstance(self.instance, 1, 1, run, "berth/base:1")],  # type: ignore[arg-type]  # a test names any
                tunnels=list(tunnels),
            )
        )

    def tunnel(self, relay_port: int, port: int, *, allow: Sequence[str] = (), host: str = "") -> Tunnel:
        ticket = self.sign(f"tunnel:{relay_port}:{host or self.id}")
        return Tunnel(relay_port, self.instance, port, ticket, list(allow))

    def grant(self, kind: str, *, port: int = 0, key: str = SLIP_KEY, lifetime_s: float = 60, **more: object) -> str:
        instance = str(more.pop("instance", self.instance))
        return sealed_grant(instance, kind, port=port, key=key, lifetime_s=lifetime_s, **more)

    def ticket(self, grant: str) -> str:
        return self.sign(f"stream:{self.id}:{grant}", lifetime_s=60)


class Service:
    """A TCP server of this machine. `talk` gets each connection."""

    def __init__(self, talk: Callable[[socket.socket], None]) -> None:
        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                talk(self.request)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> "Service":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def echo(wire: socket.socket) -> None:
    """Says back what it hears, until the other side has said all; then a last word."""
    while piece := wire.recv(65536):
        wire.sendall(piece)
    wire.sendall(b"bye")


def slow_checksums(host: StreamHost, folder: Path) -> Path:
    """A `sha256sum` for the host's scripts: it writes `begun` into the folder, waits for `go`, and then so many seconds."""
    program = folder / "sha256sum"
    program.write_text(
        f"#!/bin/sh\ntouch {folder}/begun\nuntil [ -e {folder}/go ]; do sleep 0.05; done\n"
        f'sleep "$(cat {folder}/go)"\nexec {shutil.which("sha256sum")}\n'
    )
    program.chmod(0o755)
    host.containers.env["PATH"] = f"{folder}:{os.environ['PATH']}"
    return folder
