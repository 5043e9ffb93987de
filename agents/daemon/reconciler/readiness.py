"""Readiness checks inside the network of instances, one thread for each that has a check."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing
from typing import Final

from agents.daemon.engine.interface import EngineRefused, EngineSilent
from agents.protocol.launch_messages import ReadinessCheck, ReadyState

TIMEOUT: Final = 3.0
POLL_COMING: Final = 1.0
POLL_READY: Final = 10.0
HOLD: Final = 5.0  # seconds between two changes, other than to ready: each costs a sync
OK, STARTING = 200, 204
_HEAD_BYTES: Final = 64

Connect = Callable[[int], socket.socket]


class ReadinessProber:
    """Repeats one instance's check until `stop`; `changed` is called whenever `state` has changed."""

    def __init__(self, check: ReadinessCheck, run: str, age_s: float, connect: Connect, changed: Callable[[], None]) -> None:
        self.run, self.check = run, check
        self.state: ReadyState = ""
        self._began = time.monotonic() - age_s
        self._connect = connect
        self._changed = changed
        self._stopped = threading.Event()
        threading.Thread(target=self._loop, name="ready", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def _loop(self) -> None:
        changed_at = -HOLD
        while not self._stopped.is_set():
            state, now = self._look(), time.monotonic()
            if state != self.state and (state == "ready" or now - changed_at >= HOLD):
                self.state, changed_at = state, now
                self._changed()
            self._stopped.wait(POLL_READY if state == "ready" else POLL_COMING)

    def _look(self) -> ReadyState:
        try:
            status = probe(self.check, self._connect)
        except (OSError, ValueError, EngineRefused, EngineSilent):
            status = 0
        if status == OK:
            return "ready"
        early = time.monotonic() - self._began < self.check.grace_seconds
        return "starting" if early or status == STARTING else "not_ready"


def probe(check: ReadinessCheck, connect: Connect) -> int:
    """Return the HTTP status, or for TCP the same as 200; the program inside may send anything, or nothing.

    Raises:
        OSError: Nothing answered within the time.
        ValueError: The answer is not HTTP.
    """
    end = time.monotonic() + TIMEOUT
    with closing(connect(check.port)) as wire:
        if check.type == "tcp":
            return OK
        wire.settimeout(TIMEOUT)
        head = f"GET {check.path} HTTP/1.1\r\nHost: localhost:{check.port}\r\nUser-Agent: berth-readiness\r\n"
        wire.sendall(f"{head}Accept: */*\r\nConnection: close\r\n\r\n".encode("ascii"))
        answer = b""
        while b"\n" not in answer and len(answer) < _HEAD_BYTES:
            wire.settimeout(max(0.01, end - time.monotonic()))
            piece = wire.recv(_HEAD_BYTES)
            if not piece:
                break
            answer += piece
    return _status_of(answer)


def _status_of(answer: bytes) -> int:
    words = answer.split(b"\r\n")[0].split(b" ")
    if not words[0].startswith(b"HTTP/1.") or not words[1:2] or not words[1].isdigit():
        raise ValueError("no HTTP")
    return int(words[1])
