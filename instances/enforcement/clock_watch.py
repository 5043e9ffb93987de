"""Metering and every periodic pass stand still while the control plane's clock cannot be believed; staff are told."""

import socket

from common.clock_guard import clock_trouble
from marketplace.hosts.incidents import open_incident

JUMPED = "clock_jumped"


def clock_is_believed() -> bool:
    """False opens an incident for this machine, which stays for a person to close."""
    trouble = clock_trouble()
    if trouble:
        open_incident(kind=JUMPED, subject=socket.gethostname(), detail=f"{trouble} Nothing is metered or swept by it.")
    return not trouble
