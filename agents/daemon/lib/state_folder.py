"""Ownership of the state folder: one agent at a time may use it, and copies of it are recognized."""

import errno
import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from agents.daemon.lib.atomic_files import write_atomically
from agents.daemon.lib.config import FolderUnusable

LOCK_FILE: Final = "lock"
PLACE_FILE: Final = "place.json"
MACHINE_ID: Final = Path("/etc/machine-id")
_NO_ROOM: Final = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC)


class FolderInUse(Exception):
    """Another process runs the agent of this folder."""


class FolderCopied(Exception):
    """The folder is a copy of another one: the agents of both would be the same host."""


@dataclass(frozen=True)
class FolderLocation:
    """Original location of the folder.

    `token` identifies the folder on the engine; adopting a copy makes a new one. A copy has another inode, or is on
    another machine.
    """

    token: str
    machine: str
    inode: int
    path: str


@contextmanager
def folder_lock(state: Path) -> Iterator[None]:
    """Hold the folder's lock while an agent runs; the kernel releases it however the process ends.

    Raises:
        FolderInUse: Another process runs the agent of this folder.
        FolderUnusable: The folder cannot be written.
    """
    try:
        handle = os.open(state / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise FolderUnusable(f"The agent's folder {state} cannot be written: {error.strerror}.") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with suppress(OSError):  # fails on a full disk; the process id is only for people
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    except BlockingIOError as error:
        message = f"An agent runs from {state} already{_holder_text(state)}: stop it first (systemctl stop berth-agent)."
        raise FolderInUse(message) from error
    finally:
        os.close(handle)


def holder_of(state: Path) -> int:
    """Return the process that runs the folder's agent: 0 for none, -1 if it could not write its id."""
    try:
        handle = os.open(state / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two callers at once do not see each other
        return 0
    except BlockingIOError:
        return int(os.pread(handle, 20, 0) or b"-1")
    finally:
        os.close(handle)


def read_or_record_location(state: Path) -> FolderLocation | None:
    """Return the folder's recorded location, recording it at the first start.

    It is None while a full disk prevents that.

    Raises:
        FolderCopied: The folder is a copy.
    """
    known = read_location(state)
    if known is not None:
        return known
    try:
        return _write(state)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return None


def read_location(state: Path) -> FolderLocation | None:
    """Return the folder's recorded location without writing; None before the agent's first start.

    Raises:
        FolderCopied: The folder is a copy.
    """
    known = _known(state)
    if known is not None and (known.machine, known.inode) != (_machine(), state.stat().st_ino):
        raise FolderCopied(
            f"{state} is a copy of {known.path}: two agents of one host would take each other's containers. To run this"
            f" one and never the other again, type: berth-agent adopt --state-dir {state}. To have a second host, use an"
            " empty folder and berth-agent enrol."
        )
    return known


def adopt(state: Path, *, claimed_by: str = "") -> FolderLocation:
    """Make a copy the host's folder from now on; `claimed_by` is the folder that holds the engine's claim.

    Raises:
        FolderInUse: The agent of the original runs on this machine.
    """
    known = _known(state)
    for original in {claimed_by, "" if known is None else known.path} - {""}:
        other = Path(original)
        if other.exists() and not other.samefile(state) and holder_of(other):
            raise FolderInUse(f"The agent of the original folder {original} runs: stop and disable it first.")
    return _write(state)


def _known(state: Path) -> FolderLocation | None:
    try:
        return FolderLocation(**json.loads((state / PLACE_FILE).read_bytes()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        message = (
            f"{state / PLACE_FILE} is damaged; if no copy of this folder runs, type: berth-agent adopt --state-dir {state}"
        )
        raise FolderCopied(message) from error


def _write(state: Path) -> FolderLocation:
    place = FolderLocation(secrets.token_hex(16), _machine(), state.stat().st_ino, str(state.resolve()))
    write_atomically(state / PLACE_FILE, json.dumps(asdict(place)).encode())
    return place


def _machine() -> str:
    """Return the machine's id; empty where there is none, as in a container, where the inode must suffice."""
    return MACHINE_ID.read_text().strip() if MACHINE_ID.exists() else ""


def _holder_text(state: Path) -> str:
    pid = (state / LOCK_FILE).read_text()
    return f" (process {pid})" if pid else ""
