"""Waiting for what nothing announces."""

import time
from collections.abc import Callable
from typing import Any


def wait_until(what: str, found: Callable[[], Any], *, timeout: float = 60, pause: float | None = None) -> Any:
    """The first true answer of `found`. AssertionError names what never came.

    Without a `pause`, what has not come within a second is looked for less often: what is waited for needs the processor.
    """
    began = time.monotonic()
    while (waited := time.monotonic() - began) < timeout:
        answer = found()
        if answer:
            return answer
        time.sleep((0.02 if waited < 1 else 0.1) if pause is None else pause)
    raise AssertionError(f"{what}: not within {timeout:g} s")
