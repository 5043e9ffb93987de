"""Whose folder it is: one agent at a time runs from it, and a copy of it is told from the original."""

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

from agents.daemon.lib.atomic_files import write_whole
from agents.daemon.lib.config import FolderUnusable

LOCK_FILE: Final = "lock"
PLACE_FILE: Final = "place.json"
MACHINE_ID: Final = Path("/etc/machine-id")
_NO_ROOM: Final = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC)


class FolderInUse(Exception):
    """Another process runs the agent of this folder."""


class FolderCopied(Exception):
    """The folder is a copy of another one: both would be the same host."""


@dataclass(frozen=True)
class Place:
    """Where the folder was when its agent first started. `token` names the folder on the engine and goes with no copy that
    was adopted; a copy has another inode, or lies on another machine."""

    token: str
    machine: str
    inode: int
    path: str


@contextmanager
def folder_lock(state: Path) -> Iterator[None]:
    """Held while an agent runs; the kernel lets go of it whatever ends the process. Raises FolderInUse, FolderUnusable."""
    try:
        handle = os.open(state / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        raise FolderUnusable(f"The agent's folder {state} cannot be written: {error.strerror}.") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with suppress(OSError):  # on a full disk; who holds it is for people alone
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    except BlockingIOError as error:
        said = f"An agent runs from {state} already{_told(state)}: stop it first (systemctl stop berth-agent)."
        raise FolderInUse(said) from error
    finally:
        os.close(handle)


def holder_of(state: Path) -> int:
    """The process that runs the folder's agent: 0 for none, -1 for one that could not write its number."""
    try:
        handle = os.open(state / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two who ask at once do not see each other
        return 0
    except BlockingIOError:
        return int(os.pread(handle, 20, 0) or b"-1")
    finally:
        os.close(handle)


def own_place(state: Path) -> Place | None:
    """Where the folder belongs, written down at the first start; None while a full disk does not let it be written.

    Raises FolderCopied for a copy.
    """
    known = known_place(state)
    if known is not None:
        return known
    try:
        return _write(state)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return None


def known_place(state: Path) -> Place | None:
    """The same, and nothing is written: None for a folder whose agent has not started yet. Raises FolderCopied."""
    known = _known(state)
    if known is not None and (known.machine, known.inode) != (_machine(), state.stat().st_ino):
        raise FolderCopied(
            f"{state} is a copy of {known.path}: two agents of one host would take each other's containers. To run this"
            f" one and never the other again, type: berth-agent adopt --state-dir {state}. To have a second host, use an"
            " empty folder and berth-agent enrol."
        )
    return known


def adopt(state: Path, *, claimed_by: str = "") -> Place:
    """Make a copy the host's folder from now on; `claimed_by` is the folder that the engine names.

    Raises FolderInUse while the agent of either runs on this machine.
    """
    known = _known(state)
    for original in {claimed_by, "" if known is None else known.path} - {""}:
        other = Path(original)
        if other.exists() and not other.samefile(state) and holder_of(other):
            raise FolderInUse(f"The agent of the original folder {original} runs: stop and disable it first.")
    return _write(state)


def forget_place(state: Path) -> None:
    """The folder has no place any more."""
    (state / PLACE_FILE).unlink(missing_ok=True)


def _known(state: Path) -> Place | None:
    try:
        return Place(**json.loads((state / PLACE_FILE).read_bytes()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        said = (
            f"{state / PLACE_FILE} is damaged; if no copy of this folder runs, type: berth-agent adopt --state-dir {state}"
        )
        raise FolderCopied(said) from error


def _write(state: Path) -> Place:
    place = Place(secrets.token_hex(16), _machine(), state.stat().st_ino, str(state.resolve()))
    write_whole(state / PLACE_FILE, json.dumps(asdict(place)).encode())
    return place


def _machine() -> str:
    """Empty where the system has no such name, as in a container; the folder's inode must do there."""
    return MACHINE_ID.read_text().strip() if MACHINE_ID.exists() else ""


def _told(state: Path) -> str:
    pid = (state / LOCK_FILE).read_text()
    return f" (process {pid})" if pid else ""
