"""Output of the stack's short messages on the terminal."""

import sys
import threading
import time

_started = time.monotonic()
_one_line_at_a_time = threading.Lock()


def print_status(text: str) -> None:
    """Print one line with the seconds since the start; a closed terminal is no error."""
    with _one_line_at_a_time:
        try:
            print(f"[{time.monotonic() - _started:6.1f} s] {text}", flush=True)
        except OSError:
            sys.stdout = sys.stderr
