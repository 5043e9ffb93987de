"""Waiting for what nothing announces."""

import time
from collections.abc import Callable
from typing import Any


def wait_until(what: str, found: Callable[[], Any], *, timeout: float = 60, pause: float = 0.02) -> Any:
    """The first true answer of `found`. AssertionError names what never came."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        answer = found()
        if answer:
            return answer
        time.sleep(pause)
    raise AssertionError(f"{what}: not within {timeout:g} s")
