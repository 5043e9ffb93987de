"""The stack's short lines on the terminal."""

import sys
import threading
import time

_started = time.monotonic()
_one_line_at_a_time = threading.Lock()


def say(text: str) -> None:
    """One line with the seconds since the start. A terminal that went away stops nothing."""
    with _one_line_at_a_time:
        try:
            print(f"[{time.monotonic() - _started:6.1f} s] {text}", flush=True)
        except OSError:
            sys.stdout = sys.stderr
