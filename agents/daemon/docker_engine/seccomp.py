"""System calls that an instance may make: the engine's own profile for our capabilities, reduced.

Removed are io_uring (a long series of kernel holes), sockets of the families AF_ALG and AF_VSOCK, and the old
`socketcall`, through which a filter cannot see the family. bpf, keyctl, userfaultfd and new user namespaces were
never allowed.
"""

import json
import platform
from pathlib import Path

PROFILE = Path(__file__).with_name("seccomp.json")


def profile_text(machine: str | None = None) -> str:
    """Return the profile as one line of JSON; "" on other processors, where the engine's own applies."""
    if (machine or platform.machine()) != "x86_64":
        return ""
    return json.dumps(json.loads(PROFILE.read_text()), separators=(",", ":"))
