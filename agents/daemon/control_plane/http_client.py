"""Signed requests to the control plane; the agent accepts none. Every failure has a minimum delay."""

import random
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError, ProtocolError

from agents.daemon.control_plane.tls import Client
from agents.protocol.codec import MalformedMessage, decode, encode, parse_json_object
from agents.protocol.messages import DesiredState, EnrolReply, EnrolRequest, Report, WaitAnswer
from agents.protocol.signing import BOOT_HEADER, HOST_HEADER, SEQUENCE_HEADER, SIGNATURE_HEADER, Envelope

SYNC_PATH = "/agent/v1/sync"
ENROL_PATH = "/agent/v1/enrol"
SYNC_SILENCE_S = 15.0
WAIT_SILENCE_S = 45.0  # the relay answers after 30 s at the latest
FIRST_DELAY = 0.25
LONGEST_DELAY = 30.0
REFUSED_DELAY = 15.0
DETAIL_LENGTH = 300
REVOKED = "revoked"

M = TypeVar("M")


class LinkError(Exception):
    """A request to the control plane failed.

    `retry_after_s` is the delay that the other side asked for. `refused`: it does not know this host. `revoked`: it
    accepts nothing under this key any more. `unknown`: it has no such path, because it is older than this agent.
    """

    def __init__(
        self,
        text: str,
        *,
        retry_after_s: float = 0.0,
        refused: bool = False,
        revoked: bool = False,
        unknown: bool = False,
    ) -> None:
        super().__init__(text)
        self.unknown = unknown
        self.retry_after_s = retry_after_s
        self.refused = refused
        self.revoked = revoked


class Backoff:
    """Delays that double, with full jitter, so that a thousand agents do not return at the same moment."""

    def __init__(self, jitter: Callable[[float, float], float] = random.uniform) -> None:
        self._jitter = jitter
        self._ceiling = FIRST_DELAY

    def next_delay(self, error: LinkError) -> float:
        delay = self._jitter(self._ceiling / 2, self._ceiling)
        self._ceiling = min(LONGEST_DELAY, self._ceiling * 2)
        if error.refused:
            delay = max(delay, self._jitter(REFUSED_DELAY, LONGEST_DELAY))
        if error.retry_after_s:
            delay = max(delay, error.retry_after_s * self._jitter(1.0, 1.5))
        return delay

    def reset(self) -> None:
        self._ceiling = FIRST_DELAY


@dataclass(frozen=True)
class WaitTarget:
    """Where to wait, and the version from which the counter must differ."""

    url: str
    version: int
    ticket: str


class Link:
    """One host's connection for one run of its agent.

    `sync` and `enrol` belong to one thread, `wait` to another.
    """

    def __init__(self, *, url: str, host_id: str, key: Ed25519PrivateKey) -> None:
        self._url = url.rstrip("/")
        self._host_id = host_id
        self._key = key
        self.boot_id = uuid.uuid4().hex
        self._sequence = 0
        self._counting = threading.Lock()  # a self-test signs requests in another thread
        self._http = Client(SYNC_SILENCE_S)
        self._waiting = Client(WAIT_SILENCE_S)

    def enrol(self, request: EnrolRequest) -> EnrolReply:
        return _read(EnrolReply, self._post(ENROL_PATH, encode(request), {}))

    def sync(self, report: Report) -> DesiredState:
        return _read(DesiredState, self._signed_post(SYNC_PATH, encode(report)))

    def wait(self, target: WaitTarget) -> WaitAnswer:
        """Wait at the relay until something may have changed, or until its own limit of time.

        Raises:
            LinkError: The relay refused, or could not be reached.
        """
        query = urlencode({"since": target.version, "ticket": target.ticket})
        try:
            answer = self._waiting.request("GET", f"{target.url}?{query}")
        except HTTPError as error:
            raise LinkError(f"waiting: {error or type(error).__name__}") from error
        check_answer(urlsplit(target.url).path, answer)
        try:
            return decode(WaitAnswer, answer.data)
        except MalformedMessage:  # the answer alone is enough, since the next sync brings the state
            return WaitAnswer(target.version)

    def signature(self, method: str, path: str, body: bytes) -> dict[str, str]:
        """Return the signature headers of one request, valid once; may be called from any thread."""
        with self._counting:
            self._sequence += 1
            envelope = Envelope(self._host_id, self.boot_id, self._sequence)
        signed = envelope.signing_input(method, urlsplit(self._url + path).path, body)
        return {
            HOST_HEADER: envelope.host_id,
            BOOT_HEADER: envelope.boot_id,
            SEQUENCE_HEADER: str(envelope.sequence),
            SIGNATURE_HEADER: self._key.sign(signed).hex(),
        }

    def address(self, path: str) -> str:
        return self._url + path

    def close(self) -> None:
        self._http.close()

    def close_waiting(self) -> None:
        """Close the waiting connection; only in its own thread.

        A client that is closed during another thread's request leaks its connection.
        """
        self._waiting.close()

    def _signed_post(self, path: str, body: bytes) -> BaseHTTPResponse:
        try:
            return self._post(path, body, self.signature("POST", path, body))
        except _Dropped:
            # The server closed a kept connection at this very moment. The report is a full state, so it can be sent
            # again.
            return self._post(path, body, self.signature("POST", path, body))

    def _post(self, path: str, body: bytes, headers: dict[str, str]) -> BaseHTTPResponse:
        own = {**headers, "Content-Type": "application/json"}
        try:
            answer = self._http.request("POST", self._url + path, body=body, headers=own)
        except ProtocolError as error:
            raise _Dropped(f"{path}: {error}") from error
        except HTTPError as error:
            raise LinkError(f"{path}: {error or type(error).__name__}") from error
        check_answer(path, answer)
        return answer


class _Dropped(LinkError):
    """The connection broke during the request."""


def check_answer(path: str, answer: BaseHTTPResponse) -> None:
    """Check the status of an answer.

    Raises:
        LinkError: The status is not a success.
    """
    if HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
        return
    after = answer.headers.get("Retry-After", "")
    raise LinkError(
        f"{path}: {answer.status} {_detail(answer)}",
        retry_after_s=float(after) if after.isdecimal() else 0.0,
        refused=answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN),
        revoked=answer.status == HTTPStatus.UNAUTHORIZED
        and parse_json_object(answer.data.decode(errors="replace")).get("code") == REVOKED,
    )


def _detail(answer: BaseHTTPResponse) -> str:
    """Return the detail of a problem document, or the start of any other body."""
    try:
        return str(answer.json()["detail"])[:DETAIL_LENGTH]
    except (ValueError, KeyError, TypeError):
        return answer.data.decode(errors="replace")[:DETAIL_LENGTH]


def _read(kind: type[M], answer: BaseHTTPResponse) -> M:
    try:
        return decode(kind, answer.data)
    except MalformedMessage as error:
        raise LinkError(f"the control plane's answer is not understood: {error}") from error
