"""A control plane in miniature over real HTTP: it checks signatures, hands out desired state, and can misbehave on order."""

import base64
import hashlib
import hmac
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from agents.daemon.lib.sealed_orders import PURPOSE
from agents.protocol.codec import decode, encode
from agents.protocol.messages import (
    DesiredInstance,
    DesiredState,
    EnrolReply,
    EnrolRequest,
    HostFacts,
    ObservedInstance,
    ObservedOperation,
    OperationOrder,
    Report,
)
from agents.protocol.release import RELEASE_PATH
from agents.protocol.signing import BOOT_HEADER, HOST_HEADER, SEQUENCE_HEADER, SIGNATURE_HEADER, Envelope
from agents.protocol.speed_test import SERVER_TIME_HEADER, SPEED_PATH

HOST_ID = "0190f0f0f0f07000800000000000abcd"
INSTALL_SCRIPT = Path(__file__).resolve().parent.parent.parent.parent / "agents" / "install.sh"
TICKET = "good-ticket"
SLIP_KEY = "5a" * 32
PATIENCE = 60.0  # seconds; a bound for waiting, not a claim: machines of CI are slow


class Market:
    """One host's side of the market. `reports` are in order of arrival; `drop`, `status` and `lag` make trouble."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        self._address = address
        self.changed = threading.Condition()
        self.desired: dict[str, DesiredInstance] = {}
        self.version = 0
        self.reports: list[Report] = []
        self.arrived_at: list[float] = []
        self.facts: HostFacts | None = None
        self.envelopes: list[Envelope] = []
        self.waits: list[tuple[int, str]] = []
        self.revoked, self.refused = False, 0
        self.trouble: list[str] = []  # taken one by one: "drop" (done, but no answer), or a status code
        self.retry_after = ""
        self.need_facts = False
        self.frozen = False
        self.epoch: int | None = None
        self.self_test = ""
        self.operations: list[OperationOrder] = []
        self.slip_key = SLIP_KEY
        self.streams: Callable[[], dict[str, Any]] = dict  # further fields of each answer: link, tunnels
        self.slip = ""  # what the next answers of the relay carry, whatever they are about
        self.releases = Path("/nowhere")  # what is served as the agent's newest version
        self.speeds: list[tuple[str, int]] = []
        self.clock_ahead_s = 0.0
        self.report_interval_s = 20.0
        self.public_key = ""
        self.host_id = HOST_ID
        self.check_signatures = True
        self._server = _Server((address, 0), type("Handler", (_Handler,), {"market": self}))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://{self._address}:{self._server.server_address[1]}"

    def __enter__(self) -> "Market":
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        with self.changed:
            self.version += 1
            self.changed.notify_all()  # nobody must be left waiting
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def want(self, *wanted: DesiredInstance) -> float:
        """Change the desired state and wake the host; when that was."""
        with self.changed:
            self.desired.update({item.id: item for item in wanted})
            self.version += 1
            self.changed.notify_all()
            return time.monotonic()

    def ask(self, *orders: OperationOrder) -> None:
        """Name this work, and no other, and wake the host."""
        with self.changed:
            self.operations = list(orders)
            self.version += 1
            self.changed.notify_all()

    def slip_of(self, wanted: DesiredInstance, *, key: str = SLIP_KEY) -> str:
        cipher = AESGCM(hmac.digest(bytes.fromhex(key), PURPOSE, hashlib.sha256))
        nonce = os.urandom(12)
        return base64.urlsafe_b64encode(nonce + cipher.encrypt(nonce, encode(wanted), PURPOSE)).rstrip(b"=").decode()

    def hand_over(self, slip: str, *, wakes: int = 1) -> None:
        """Wake the host with a slip, so many changes after the last that it knows; what it would be told stays as it is."""
        with self.changed:
            self.slip = slip
            self.version += wakes
            self.changed.notify_all()

    def forget(self, instance: str) -> None:
        with self.changed:
            del self.desired[instance]
            self.version += 1
            self.changed.notify_all()

    def until(self, true_of: Callable[[Report], bool], *, patience: float = PATIENCE) -> Report:
        """The first report, from the latest on, of which it is true."""
        with self.changed:
            found = self.changed.wait_for(lambda: self.reports and true_of(self.reports[-1]), patience)
            last = self.reports[-1] if self.reports else None
            assert found, f"waited {patience} s in vain; the last report was {last}"
            return self.reports[-1]

    def until_phase(self, instance: str, phase: str, generation: int | None = None, **more: Any) -> ObservedInstance:
        row = self.until(lambda report: _row(report, instance, phase, generation) is not None, **more)
        found = _row(row, instance, phase, generation)
        assert found is not None
        return found

    def until_ended(self, order: OperationOrder) -> ObservedOperation:
        def row_of(report: Report) -> ObservedOperation | None:
            return next((row for row in report.operations if row.id == order.id and row.phase != "running"), None)

        found = row_of(self.until(lambda report: row_of(report) is not None))
        assert found is not None
        return found

    def until_done(self, order: OperationOrder) -> dict[str, str]:
        """What came of it."""
        row = self.until_ended(order)
        assert row.phase == "done", row
        return row.outcome

    def until_absent(self, instance: str, **more: Any) -> None:
        self.until(lambda report: instance in report.absent, **more)

    def sync(self, body: bytes, headers: dict[str, str], path: str) -> bytes:
        envelope = Envelope(headers[HOST_HEADER], headers[BOOT_HEADER], int(headers[SEQUENCE_HEADER]))
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.public_key))
        if self.check_signatures:
            key.verify(bytes.fromhex(headers[SIGNATURE_HEADER]), envelope.signing_input("POST", path, body))
        report = decode(Report, body)
        with self.changed:
            self.reports.append(report)
            self.arrived_at.append(time.monotonic())
            self.envelopes.append(envelope)
            self.facts = report.facts or self.facts
            self.changed.notify_all()
            state = DesiredState(
                protocol=1,
                version=self.version,
                wait_url=f"{self.url}/agent/v1/wait",
                wait_ticket=TICKET,
                instances=list(self.desired.values()),
                report_interval_s=self.report_interval_s,
                need_facts=self.need_facts and report.facts is None,
                frozen=self.frozen,
                epoch=self.epoch,
                self_test=self.self_test,
                slip_key=self.slip_key,
                operations=list(self.operations),
            )
        return encode(replace(state, **self.streams()))

    def speed(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> bytes:
        envelope = Envelope(headers[HOST_HEADER], headers[BOOT_HEADER], int(headers[SEQUENCE_HEADER]))
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.public_key))
        key.verify(bytes.fromhex(headers[SIGNATURE_HEADER]), envelope.signing_input(method, path, body))
        size = len(body) if method == "POST" else int(path.rpartition("/")[2])
        self.speeds.append((method, size))
        return b"{}" if method == "POST" else bytes(size)

    def enrol(self, body: bytes) -> bytes:
        request = decode(EnrolRequest, body)
        if request.token != "join":
            raise PermissionError("The join token is used or too old.")
        self.public_key, self.facts = request.public_key, request.facts
        return encode(EnrolReply(host_id=self.host_id, name="sim-1", protocol=1))

    def wait(self, since: int, ticket: str) -> bytes:
        if ticket != TICKET:
            raise PermissionError("The ticket is no good.")
        with self.changed:
            self.waits.append((since, ticket))
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.version != since, 25.0)
            slip, self.slip = self.slip, ""
            return json.dumps({"version": self.version, **({"slip": slip} if slip else {})}).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # an agent that is killed or stopped cuts its connections
            super().handle_error(request, client_address)


def _row(report: Report, instance: str, phase: str, generation: int | None) -> ObservedInstance | None:
    for row in report.instances:
        if row.id == instance and row.phase == phase and generation in (None, row.generation):
            return row
    return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    market: Market

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == SPEED_PATH:
            self._speed(body)
            return
        trouble = self.market.trouble.pop(0) if self.market.trouble else ""
        if trouble.isdecimal():
            self._answer(int(trouble), b'{"detail": "in trouble"}')
            return
        if self.market.revoked and self.path != "/agent/v1/enrol":
            self.market.refused += 1
            self._answer(401, b'{"code": "revoked", "detail": "its key was revoked"}')
            return
        try:
            answer = self._take(body)
        except (PermissionError, InvalidSignature) as error:
            self._refuse(error)
            return
        if trouble == "drop":
            self.close_connection = True  # heard, but the answer never leaves
            return
        self._answer(200, answer)

    def do_GET(self) -> None:
        if self.path.startswith(SPEED_PATH):
            self._speed(b"")
            return
        if self.path.startswith(f"{RELEASE_PATH}/"):
            file = self.market.releases / self.path.rpartition("/")[2]
            self._answer(200, file.read_bytes()) if file.exists() else self._answer(404, b'{"detail": "no release"}')
            return
        if self.path == "/agent/v1/install.sh":
            self._answer(200, INSTALL_SCRIPT.read_bytes())
            return
        query = parse_qs(urlsplit(self.path).query)
        try:
            self._answer(200, self.market.wait(int(query["since"][0]), query["ticket"][0]))
        except PermissionError as error:
            self._refuse(error)

    def _take(self, body: bytes) -> bytes:
        if self.path == "/agent/v1/enrol":
            return self.market.enrol(body)
        return self.market.sync(body, dict(self.headers.items()), self.path)

    def _speed(self, body: bytes) -> None:
        trouble = self.market.trouble.pop(0) if self.market.trouble else ""
        if trouble:
            self._answer(int(trouble), b'{"detail": "in trouble"}')
            return
        try:
            self._answer(200, self.market.speed(self.command, self.path, body, dict(self.headers.items())))
        except InvalidSignature as error:
            self._refuse(error)

    def _refuse(self, error: Exception) -> None:
        self._answer(403, json.dumps({"detail": str(error)}).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header(SERVER_TIME_HEADER, str(time.time() + self.market.clock_ahead_s))
        if self.market.retry_after:
            self.send_header("Retry-After", self.market.retry_after)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        return


def renamed(desired: DesiredInstance, **changes: Any) -> DesiredInstance:
    """The same instance at its next generation."""
    return replace(desired, generation=desired.generation + 1, **changes)
