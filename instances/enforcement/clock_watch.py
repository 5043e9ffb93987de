"""Check of the control plane's clock; without a trustworthy one nothing is metered or swept."""

import socket

from common.clock_guard import clock_problem
from marketplace.hosts.incidents import open_incident

JUMPED = "clock_jumped"


def clock_is_trusted() -> bool:
    """Return whether the clock can be trusted.

    If not, an incident for this machine is opened, which staff have to close.
    """
    trouble = clock_problem()
    if trouble:
        open_incident(kind=JUMPED, subject=socket.gethostname(), detail=f"{trouble} Nothing is metered or swept by it.")
    return not trouble
