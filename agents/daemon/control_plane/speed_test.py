"""Measurement of the speed to the control plane, and of the difference between the two clocks."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from urllib3.exceptions import HTTPError

from agents.daemon.control_plane.http_client import Link, LinkError, check_answer
from agents.daemon.control_plane.tls import Client
from agents.protocol.speed_test import LARGEST_BYTES, SERVER_TIME_HEADER, SPEED_PATH

FIRST_BYTES: Final = 64 * 1024
GROWTH: Final = 4
LONG_ENOUGH: Final = 0.5  # seconds that a transfer must take to count as a measurement
SILENCE_S: Final = 20.0


@dataclass(frozen=True)
class Transfer:
    """Time of one request, and the difference between its middle and the server's clock."""

    seconds: float
    clock_offset_s: float


@dataclass(frozen=True)
class NetSpeed:
    """Speeds in Mbit/s; `clock_offset_s` is positive if this machine's clock is behind."""

    up_mbps: float
    down_mbps: float
    clock_offset_s: float


class SpeedTestConnection(Protocol):
    """Connection for the speed test. Its methods raise LinkError."""

    def upload(self, size: int) -> Transfer: ...

    def download(self, size: int) -> Transfer: ...


class SignedSpeedTestConnection:
    """Speed test against the gateway, with signed requests."""

    def __init__(self, link: Link, client: Client) -> None:
        self._link = link
        self._client = client

    def upload(self, size: int) -> Transfer:
        return self._transfer("POST", SPEED_PATH, os.urandom(size))

    def download(self, size: int) -> Transfer:
        return self._transfer("GET", f"{SPEED_PATH}/{size}", b"")

    def _transfer(self, method: str, path: str, body: bytes) -> Transfer:
        headers = self._link.signature(method, path, body)
        sent_at, begun = time.time(), time.perf_counter()
        try:
            answer = self._client.request(method, self._link.address(path), body=body, headers=headers)
        except HTTPError as error:
            raise LinkError(f"{path}: {error or type(error).__name__}") from error
        seconds = time.perf_counter() - begun
        check_answer(path, answer)
        try:
            offset = float(answer.headers[SERVER_TIME_HEADER]) - (sent_at + seconds / 2)
        except (KeyError, ValueError) as error:
            raise LinkError(f"{path}: the answer bears no time") from error
        return Transfer(seconds, offset)


@contextmanager
def signed_connection(link: Link) -> Iterator[SpeedTestConnection]:
    """Open a connection of its own, so that the main loop's requests need not wait."""
    with closing(Client(SILENCE_S)) as client:
        yield SignedSpeedTestConnection(link, client)


def measure_net(line: SpeedTestConnection) -> NetSpeed:
    """Measure both directions, with transfers that grow until one takes long enough.

    So a slow connection is not blocked for long.
    """
    greeting = line.download(0)
    return NetSpeed(_speed(line.upload), _speed(line.download), greeting.clock_offset_s)


def _speed(transfer: Callable[[int], Transfer]) -> float:
    size, best = FIRST_BYTES, 0.0
    while True:
        seconds = max(transfer(size).seconds, 1e-9)
        best = max(best, size * 8 / 1e6 / seconds)
        if seconds >= LONG_ENOUGH or size == LARGEST_BYTES:
            return best
        size = min(LARGEST_BYTES, size * GROWTH)
