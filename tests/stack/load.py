"""Load on a stack: requests as bytes on kept connections, and what they took."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from uuid import uuid4

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from agents.daemon.control_plane.http_client import SYNC_PATH, Link
from agents.protocol.codec import encode
from agents.protocol.messages import EnrolRequest, GpuFacts, HostFacts, Report
from tests.stack.harness import Stack

_ANSWER_WITHIN_S = 60.0

# The bytes of one request; made anew for each where a signature is good for once.
Request = Callable[[], bytes]


@dataclass(frozen=True)
class Answer:
    status: int
    seconds: float
    head: bytes = b""


def get(path: str, **headers: str) -> Request:
    lines = [
        f"GET {path} HTTP/1.1",
        "Host: 127.0.0.1",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    content = "\r\n".join([*lines, "", ""]).encode()
    return lambda: content


class Line:
    """One kept connection. A request on one that the server has closed meanwhile goes out again on another."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    def ask(self, request: Request) -> Answer:
        content, began = request(), time.perf_counter()
        answer = self._exchange(content) or self._exchange(content)
        if answer is None:
            raise ConnectionError("the server hung up on a fresh connection")
        return Answer(answer[0], time.perf_counter() - began, answer[1])

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _exchange(self, content: bytes) -> tuple[int, bytes] | None:
        try:
            if self._socket is None:
                self._socket = socket.create_connection(("127.0.0.1", self._port), _ANSWER_WITHIN_S)
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.sendall(content)
            return self._read(self._socket)
        except ConnectionError:
            self.close()
            return None

    def _read(self, connection: socket.socket) -> tuple[int, bytes]:
        found = b""
        while b"\r\n\r\n" not in found:
            piece = connection.recv(65_536)
            if not piece:
                raise ConnectionResetError
            found += piece
        head, _, body = found.partition(b"\r\n\r\n")
        lower = head.lower()
        left = int(lower.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0]) - len(body)
        while left > 0:
            left -= len(connection.recv(left))
        if b"connection: close" in lower:
            self.close()
        return int(head.split(b" ", 2)[1]), lower


@dataclass
class Agent:
    """A host of hana's that syncs by hand: its messages are signed, and nothing of it runs."""

    stack: Stack
    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    def enrol(self) -> "Agent":
        body = {"host_name": "by-hand", "region": "local", "price_hourly": "3.60"}
        token = self.stack.client("hana").post("/api/v1/join-tokens", json=body).raise_for_status().json()["token"]
        public = self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
        reply = Link(url=self.stack.url, host_id="", key=self.key).enrol(
            EnrolRequest(token=token, public_key=public, agent_version="0.1.0", versions=[1], facts=_facts())
        )
        self._link = Link(url=self.stack.url, host_id=reply.host_id, key=self.key)
        self._body = encode(Report(agent_version="0.1.0", versions=[1], facts=None))
        return self

    def sync(self) -> bytes:
        """The bytes of its next message."""
        signed = self._link.signature("POST", SYNC_PATH, self._body)
        length = str(len(self._body))
        headers = {**signed, "Host": "127.0.0.1", "Content-Type": "application/json", "Content-Length": length}
        lines = [f"POST {SYNC_PATH} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode() + self._body


def _facts() -> HostFacts:
    return HostFacts(
        hostname="by-hand",
        runtime="simulated",
        runtime_version="1",
        kernel="6.1",
        cpu_model="EPYC",
        cpu_cores=32,
        ram_mb=131_072,
        disk_total_gb=2_000,
        disk_free_gb=1_500,
        disk_kind="nvme",
        driver="550.54",
        cuda="12.4",
        gpus=[GpuFacts(f"GPU-{uuid4()}", "NVIDIA GeForce RTX 4090", 24_564, 0, simulated=True)],
        port_first=40_000,
        port_last=40_999,
        address="127.0.0.1",
    )


def ask(port: int, request: Request) -> Answer:
    """On a connection of its own."""
    with closing(Line(port)) as line:
        return line.ask(request)


def one_after_another(port: int, request: Request, seconds: float) -> list[Answer]:
    """By one client, which waits for each answer."""
    until, found = time.monotonic() + seconds, []
    with closing(Line(port)) as line:
        while time.monotonic() < until:
            found.append(line.ask(request))
    return found


def at_once(port: int, requests: Sequence[Request], seconds: float) -> list[Answer]:
    """By as many clients as there are requests, each of which waits for its answers."""
    found: list[list[Answer]] = [[] for _ in requests]

    def one(number: int) -> None:
        found[number] = one_after_another(port, requests[number], seconds)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(len(requests))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [answer for each in found for answer in each]


def percentile(answers: Sequence[Answer], share: float) -> float:
    """Seconds within which this share of them came."""
    times = sorted(answer.seconds for answer in answers)
    return times[min(len(times) - 1, int(len(times) * share))]


@contextmanager
def dribbling(port: int, count: int, path: str = "/api/v1/advice") -> Iterator[list[socket.socket]]:
    """Connections that announce a body of 1,000 bytes and send nine."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(count)]
        for each in sockets:
            each.sendall(head.encode() + b'{"tasks":')
        yield sockets
