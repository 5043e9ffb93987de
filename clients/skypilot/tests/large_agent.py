"""The agent of a host that calls itself large: SkyPilot's own query sees no host below 32 cores and 64 GiB.

Each of its sixteen GPUs comes with two cores, so one of them runs wherever there are two.
"""

import sys
from pathlib import Path

from agents.daemon.__main__ import main
from agents.daemon.telemetry import host_facts

_real = host_facts._real_shape


def _large(state: Path) -> tuple[int, int, int, int, str]:
    kind = _real(state)[-1]
    return 32, 96 * 1024, 900, 800, kind


if __name__ == "__main__":
    host_facts._real_shape = _large
    sys.exit(main(sys.argv[1:]))
