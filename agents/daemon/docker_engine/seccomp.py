"""The system calls that an instance may make: the engine's own profile for our capabilities, with less.

Taken out: io_uring (a long line of kernel holes), sockets of the families AF_ALG and AF_VSOCK, and the old `socketcall`,
through which a filter cannot see the family. bpf, keyctl, userfaultfd and new user namespaces were never in.
"""

import json
import platform
from pathlib import Path

PROFILE = Path(__file__).with_name("seccomp.json")


def profile_text(machine: str | None = None) -> str:
    """As one line of JSON, as the engine takes it; "" on other processors, where the engine's own profile stands."""
    if (machine or platform.machine()) != "x86_64":
        return ""
    return json.dumps(json.loads(PROFILE.read_text()), separators=(",", ":"))
