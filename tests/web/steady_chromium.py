#!/usr/bin/env python3
"""Chromium that does not hear of the machine's addresses.

It gives up what waits when one comes or goes (`ERR_NETWORK_CHANGED`), loopback included, and the engine beside it makes a
network for each instance. Without a netlink socket it takes the network for steady; so it gets none, as on a kernel without.
"""

import ctypes
import os
import platform
import struct
import sys
from pathlib import Path

_LEAN, _WHOLE = Path("/usr/bin/chromium-headless-shell"), Path("/usr/bin/chromium")
BROWSER = _LEAN if _LEAN.exists() else _WHOLE  # the same engine without what only a screen needs
SOCKET_CALL = {"x86_64": 41, "aarch64": 198}  # __NR_socket
NETLINK, NOT_SUPPORTED = 16, 97  # AF_NETLINK, EAFNOSUPPORT
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06  # BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K, BPF_RET | BPF_K
ALLOW, REFUSE = 0x7FFF0000, 0x00050000  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO
CALL, FIRST_ARGUMENT = 0, 16  # where struct seccomp_data has them


class Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def deny_netlink() -> None:
    """To this process and all that come of it."""
    steps = (
        (LOAD, 0, 0, CALL),
        (JUMP_EQUAL, 0, 3, SOCKET_CALL[platform.machine()]),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (JUMP_EQUAL, 0, 1, NETLINK),
        (RETURN, 0, 0, REFUSE | NOT_SUPPORTED),
        (RETURN, 0, 0, ALLOW),
    )
    program = Program(len(steps), b"".join(struct.pack("=HBBI", *step) for step in steps))
    libc = ctypes.CDLL(None, use_errno=True)
    for call in ((NO_NEW_PRIVILEGES, 1, 0, 0, 0), (SECCOMP, FILTER, ctypes.byref(program), 0, 0)):
        if libc.prctl(*call):
            raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    deny_netlink()
    os.execv(BROWSER, [str(BROWSER), *sys.argv[1:]])
