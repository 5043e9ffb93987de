"""Check of the control plane's clock; without a trustworthy one nothing is metered or swept."""

import socket

from common.clock_guard import clock_problem
from instances.core.incident_messages import ClockUntrusted
from marketplace.hosts.incidents import open_incident

JUMPED = "clock_jumped"


def clock_is_trusted() -> bool:
    """Return whether the clock can be trusted.

    If not, an incident for this machine is opened, which staff have to close.
    """
    trouble = clock_problem()
    if trouble is not None:
        open_incident(kind=JUMPED, subject=socket.gethostname(), detail=ClockUntrusted(trouble=trouble))
    return trouble is None
