"""What a hostile tenant tries, as root inside an instance; run there by `python3 -`. Standard library alone.

Each attempt that succeeds is an escape or a hole. It prints one JSON object: what was tried → "" where it was denied, else
what it got. `OTHER`, `GATEWAY`, `LISTENER` and `LAN` come from the environment.
"""

import ctypes
import errno
import fcntl
import json
import os
import platform
import shutil
import socket
import stat
import struct
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
# Numbers of x86-64 and of the generic table (arm64).
CALLS = {
    "add_key": (248, 217),
    "bpf": (321, 280),
    "delete_module": (176, 106),
    "fsopen": (430, 430),
    "init_module": (175, 105),
    "io_uring_setup": (425, 425),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "move_mount": (429, 429),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "pivot_root": (155, 41),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setns": (308, 268),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
COLUMN = 0 if platform.machine() == "x86_64" else 1
NEWNS, NEWNET, NEWUSER, NEWPID = 0x20000, 0x40000000, 0x10000000, 0x20000000
TIMEOUT = 1.0


def call(name: str, *arguments: int | bytes | None) -> str:
    """What the kernel gave; "" for a refusal. A wrong argument (EINVAL, EFAULT, EBADF) means that it did look at it."""
    ctypes.set_errno(0)
    values = [ctypes.c_char_p(item) if isinstance(item, bytes | None) else ctypes.c_long(item) for item in arguments]
    got = LIBC.syscall(ctypes.c_long(CALLS[name][COLUMN]), *values)
    refused = (errno.EPERM, errno.EACCES, errno.ENOSYS)
    return "" if got == -1 and ctypes.get_errno() in refused else f"returned {got}, {os.strerror(ctypes.get_errno())}"


def writes(path: str, text: str) -> str:
    """Only into what is there: a new file of that name in a folder of our own would change nothing."""
    try:
        file = os.open(path, os.O_WRONLY)
    except OSError:
        return ""
    try:
        os.write(file, text.encode())
    except OSError:
        return ""
    finally:
        os.close(file)
    return f"wrote {text!r}"


def reads(path: str) -> str:
    """Masked files are empty."""
    try:
        with Path(path).open("rb") as file:
            got = file.read(16)
    except OSError:
        return ""
    return f"read {got!r}" if got.strip(b"\0") else ""


def opens_device(kind: int, major: int, minor: int) -> str:
    path = Path(tempfile.mkdtemp()) / "device"
    try:
        os.mknod(path, kind | 0o600, os.makedev(major, minor))
        path.open("rb").close()
    except OSError:
        return ""
    return "opened"


def makes_socket(family: int, kind: int, protocol: int = 0) -> str:
    try:
        socket.socket(family, kind, protocol).close()
    except OSError:
        return ""
    return "got a socket"


def connects(address: str, port: int) -> str:
    try:
        socket.create_connection((address, port), TIMEOUT).close()
    except ConnectionRefusedError:
        return "reached a closed port"
    except OSError:
        return ""
    return "connected"


def takes_network_down() -> str:
    set_flags = 0x8914
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            fcntl.ioctl(any_socket, set_flags, struct.pack("16sh14x", b"eth0", 0))
        except OSError:
            return ""
    return "took it down"


def runs(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    return "" if done.returncode else f"ran: {done.stdout.strip()[:80]}"


def gains_by_setuid() -> str:
    """As a plain user, a setuid copy of `id` must not become root: no-new-privileges."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    copy = Path(shutil.copy("/usr/bin/id", folder))
    copy.chmod(0o4755)
    done = subprocess.run([copy, "-u"], capture_output=True, text=True, user="nobody", check=False)
    return "became root" if done.stdout.strip() == "0" else ""


def holds_capabilities() -> str:
    """Of SYS_ADMIN, SYS_MODULE, SYS_RAWIO, SYS_PTRACE, SYS_BOOT, SYS_TIME, NET_ADMIN, NET_RAW, MKNOD, DAC_READ_SEARCH and
    SETFCAP, in this order."""
    dangerous = (21, 16, 17, 19, 22, 25, 12, 13, 27, 2, 31)
    status = Path("/proc/self/status").read_text()
    bounding = int(next(line for line in status.splitlines() if line.startswith("CapBnd")).split()[1], 16)
    held = [number for number in dangerous if bounding >> number & 1]
    return f"capabilities {held}" if held else ""


def sees_others() -> str:
    """Programs of the host or of other tenants: none but our own init and what it started."""
    first = Path("/proc/1/comm").read_text().strip()
    shown = [path for path in Path("/proc").iterdir() if path.name.isdigit()]
    return "" if first in ("docker-init", "tini") and len(shown) < 50 else f"{first}, {len(shown)} programs"


def sees_host_folders() -> str:
    """What is mounted from the host's disks: three single files of the engine's, our access folder and our data disk."""
    known = (
        "/etc/resolv.conf",
        "/etc/hostname",
        "/etc/hosts",
        "/run/berth",
        "/data",
        "/usr/sbin/docker-init",
        "/sbin/docker-init",
    )
    lines = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return ", ".join(line[1] for line in lines if line[0].startswith("/dev/") and line[1] not in known)


def environment(name: str) -> str:
    return os.environ[name]


PROC = {
    "core pattern": ("/proc/sys/kernel/core_pattern", "|/tmp/x"),
    "sysrq": ("/proc/sysrq-trigger", "h"),
    "drop caches": ("/proc/sys/vm/drop_caches", "1"),
    "panic on oom": ("/proc/sys/vm/panic_on_oom", "1"),
    "modprobe path": ("/proc/sys/kernel/modprobe", "/tmp/x"),
    "host name": ("/proc/sys/kernel/hostname", "owned"),
    "address space layout": ("/proc/sys/kernel/randomize_va_space", "0"),
    "ip forwarding": ("/proc/sys/net/ipv4/ip_forward", "1"),
    "binfmt": ("/proc/sys/fs/binfmt_misc/register", ":x:M::x::/tmp/x:"),
    "uevent helper": ("/sys/kernel/uevent_helper", "/tmp/x"),
    "memory limit": ("/sys/fs/cgroup/memory.max", "max"),
    "memory limit (v1)": ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "-1"),
    "process limit": ("/sys/fs/cgroup/pids.max", "max"),
    "process limit (v1)": ("/sys/fs/cgroup/pids/pids.max", "max"),
    "release agent (v1)": ("/sys/fs/cgroup/memory/release_agent", "/tmp/x"),
    "power state": ("/sys/power/state", "mem"),
    "security settings": ("/sys/kernel/security/apparmor/.load", "x"),
    "own score of the OOM killer": ("/proc/self/oom_score_adj", "-1000"),
    "access folder": ("/run/berth/authorized_keys", "ssh-ed25519 AAAA mallory"),
}
MASKED = (
    *("/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/latency_stats", "/proc/scsi/scsi"),
    *("/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/loop-control", "/dev/fuse", "/dev/kvm"),
    *("/dev/net/tun", "/sys/firmware/dmi/tables/DMI", "/var/run/docker.sock", "/run/containerd/containerd.sock"),
)


def attempts() -> dict[str, Callable[[], str]]:
    folder = tempfile.mkdtemp().encode()
    space = Path("/proc/1/ns/net")
    tried: dict[str, Callable[[], str]] = {
        "mount a tmpfs": lambda: call("mount", b"none", folder, b"tmpfs", 0, None),
        "mount /proc anew": lambda: call("mount", b"proc", folder, b"proc", 0, None),
        "mount the cgroup tree": lambda: call("mount", b"none", folder, b"cgroup2", 0, None),
        "bind the root elsewhere": lambda: call("mount", b"/", folder, None, 4096, None),
        "make /run/berth writable": lambda: call("mount", None, b"/run/berth", None, 32 | 4096, None),
        "take a mask off": lambda: call("umount2", b"/proc/kcore", 2),
        "mount by a descriptor": lambda: call("fsopen", b"tmpfs", 0),
        "copy a mount": lambda: call("open_tree", -100, b"/", 1),
        "pivot the root": lambda: call("pivot_root", b"/", folder),
        "new mount namespace": lambda: call("unshare", NEWNS),
        "new user namespace": lambda: call("unshare", NEWUSER),
        "new network namespace": lambda: call("unshare", NEWNET),
        "new process namespace": lambda: call("unshare", NEWPID),
        "join a namespace": lambda: call("setns", os.open(space, os.O_RDONLY), 0),
        "load a program into the kernel": lambda: call("bpf", 5, None, 0),
        "load a module": lambda: call("init_module", None, 0, b""),
        "unload a module": lambda: call("delete_module", b"loop", 0),
        "load another kernel": lambda: call("kexec_load", 0, 0, None, 0),
        "reboot": lambda: call("reboot", 0xFEE1DEAD, 672274793, 0, None),
        "watch performance": lambda: call("perf_event_open", None, 0, -1, -1, 0),
        "handle page faults": lambda: call("userfaultfd", 0),
        "open by handle": lambda: call("open_by_handle_at", 3, None, 0),
        "ring of system calls": lambda: call("io_uring_setup", 8, None),
        "add a key": lambda: call("add_key", b"user", b"x", b"y", 1, -3),
        "read keys": lambda: call("keyctl", 0, -3, 1),
        "request a key": lambda: call("request_key", b"user", b"x", None, 0),
        "swap on": lambda: call("swapon", b"/etc/passwd", 0),
        "set quotas": lambda: call("quotactl", 0, None, 0, None),
        "read the kernel's log": lambda: call("syslog", 3, None, 0),
        "make a disk's device": lambda: opens_device(stat.S_IFBLK, 8, 0),
        "make a loop device": lambda: opens_device(stat.S_IFBLK, 7, 0),
        "make /dev/mem": lambda: opens_device(stat.S_IFCHR, 1, 1),
        "make an NVIDIA device": lambda: opens_device(stat.S_IFCHR, 195, 255),
        "packet socket": lambda: makes_socket(socket.AF_PACKET, socket.SOCK_RAW, 3),
        "raw socket": lambda: makes_socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
        "crypto socket": lambda: makes_socket(socket.AF_ALG, socket.SOCK_SEQPACKET),
        "socket of virtual machines": lambda: makes_socket(socket.AF_VSOCK, socket.SOCK_STREAM),
        "take the network down": takes_network_down,
        "metadata address": lambda: connects("169.254.169.254", 80),
        "another tenant's SSH": lambda: connects(environment("OTHER"), 22),
        "another tenant's JupyterLab": lambda: connects(environment("OTHER"), 8888),
        "the host's SSH": lambda: connects(environment("GATEWAY"), 22),
        "the engine's port": lambda: connects(environment("GATEWAY"), 2375),
        "a program on the host": lambda: connects(environment("GATEWAY"), int(environment("LISTENER"))),
        "the host by its own address": lambda: connects(environment("LAN"), int(environment("LISTENER"))),
        "a private network (10/8)": lambda: connects("10.0.0.1", 80),
        "a private network (192.168/16)": lambda: connects("192.168.0.1", 80),
        "a private network (172.16/12)": lambda: connects("172.31.255.254", 80),
        "carrier addresses (100.64/10)": lambda: connects("100.64.0.1", 80),
        "mail (port 25)": lambda: connects("192.0.2.1", 25),
        "capabilities": holds_capabilities,
        "root by setuid": gains_by_setuid,
        "others' programs": sees_others,
        "folders of the host": sees_host_folders,
        "host name": lambda: runs("hostname", "owned"),
        "the clock": lambda: runs("date", "-s", "2000-01-01"),
    }
    tried |= {f"write: {name}": lambda place=place: writes(*place) for name, place in PROC.items()}  # type: ignore[misc]
    tried |= {f"read: {path}": lambda path=path: reads(path) for path in MASKED}  # type: ignore[misc]
    return tried


def alone(attempt: Callable[[], str]) -> str:
    """In a process of its own: one that succeeds would change what the next ones find."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(theirs, attempt().encode())
        os._exit(0)
    os.close(theirs)
    with open(ours) as handle:  # noqa: PTH123  (a descriptor, not a path)
        got = handle.read()
    _, status = os.waitpid(child, 0)
    return got or (f"ended with status {status}" if status else "")


if __name__ == "__main__":
    print(json.dumps({name: alone(attempt) for name, attempt in attempts().items()}))
