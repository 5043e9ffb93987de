"""Journal of what the agent must remember over a crash: accepted fences and intended side effects."""

import errno
import json
import logging
import os
import shutil
import threading
import time
import weakref
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

from agents.daemon.lib.atomic_files import sync_folder
from agents.protocol.messages import DesiredInstance, Run

EndedBy = Literal["itself", "host", "engine"]  # who ended a run

logger = logging.getLogger(__name__)

CHUNK = 256 * 1024
TOMBSTONE_SECONDS = 30 * 24 * 3600


class JournalLost(OSError):
    """It is unknown whether the journal would survive a power cut.

    An agent that went on might forget what it has accepted.
    """


@dataclass(frozen=True)
class Entry:
    """Record of one instance. Generations are 0 until something has happened."""

    fence: int = 0  # highest accepted
    generation: int = 0  # highest accepted
    run: Run = "running"  # as last accepted
    starting: int = 0  # generation for which an existing container is being started again
    started_from: str = ""  # its start timestamp before that; while unchanged, the container has not been started
    accepted: int = 0  # highest generation that passed the acceptance test
    root: int = 0  # number of the root of that generation
    accepted_run: str = ""  # start timestamp of the accepted run: another one at the same generation was not ordered
    ended_run: str = ""  # start timestamp of a run that ended without an order
    ended_by: EndedBy = "itself"  # who ended that run
    failed: int = 0  # generation that failed for good; code and reason follow
    failure_code: str = ""
    failure_detail: str = ""
    failure_about: str = ""  # see `agents.daemon.lib.errors.Failed`
    quarantined: bool = False  # unknown to the market of the present epoch: kept, but not allowed to run
    disk_made: bool = False  # its data disk was made here: from then on a missing one counts as lost and is never made again
    written_at: int = 0


_FIELDS: Final = {item.name: type(item.default) for item in fields(Entry)}
_WORDS: Final = {"run": get_args(Run), "ended_by": get_args(EndedBy)}
_SUM: Final = b',"crc":"'
_SUM_LENGTH: Final = len(_SUM) + 10  # with the eight digits, the quote and the brace
_EPOCH: Final = "epoch"  # key of a record with the accepted epoch; an older agent takes it for an instance that is gone
DAMAGED: Final = "journal.damaged"
_DAMAGE: Final = "%s: %s of its records are not as they were written. What could be read is used; a copy is kept as %s"


class Journal:
    """Append-only file of JSON lines with checksums, in preallocated space.

    A second file of the same size is kept next to it. Compaction writes to that file and swaps the two, so it needs
    no room on a full disk. With `durable`, a record is on the disk before the call returns.
    """

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        """Read the journal; damaged records are left out, and a copy is kept as `journal.damaged`."""
        self._path = path
        self._spare, self._former = path.with_suffix(".spare"), path.with_suffix(".former")
        self._durable = durable
        self._lock = threading.Lock()
        self._lost: JournalLost | None = None
        found = _read(path)
        self._entries = found.entries
        if found.damaged:
            logger.error(_DAMAGE, path, found.damaged, path.with_name(DAMAGED))
            _keep_copy(path)
        self._delete_tombstones()
        self._size = self._offset = 0
        self._repair_names()
        self._open(found.end)

    @property
    def epoch(self) -> int:
        """Return the market's epoch that was accepted last."""
        with self._lock:
            return self._entries.get(_EPOCH, Entry()).fence

    def entry(self, instance: str) -> Entry:
        with self._lock:
            return self._entries.get(instance, Entry())

    def entries(self) -> dict[str, Entry]:
        with self._lock:
            return {key: entry for key, entry in self._entries.items() if key != _EPOCH}

    def record(self, changes: Mapping[str, Entry], *, epoch: int = 0) -> None:
        """Write all changes with one sync of the disk; `epoch`, if not 0, after them.

        Raises:
            OSError: The write failed; then no change counts.
        """
        if epoch:
            changes = {**changes, _EPOCH: Entry(fence=epoch, run="gone")}
        if not changes:
            return
        with self._lock:
            stamped = {key: replace(entry, written_at=int(time.time())) for key, entry in changes.items()}
            before = self._entries
            self._entries = before | stamped
            try:
                self._append(b"".join(_line(key, entry) for key, entry in stamped.items()))
            except OSError:
                self._entries = before
                raise

    def amend(self, instance: str, **changes: Any) -> None:
        self.record({instance: replace(self.entry(instance), **changes)})

    def record_failure(self, desired: DesiredInstance, code: str, detail: str, about: str = "") -> None:
        """Record that this generation failed for good and is not to be tried again."""
        why = {"failure_code": code, "failure_detail": detail, "failure_about": about}
        self.amend(desired.id, failed=desired.generation, **why)

    def check(self) -> None:
        """Check that the journal is usable.

        Raises:
            JournalLost: It was lost, in whichever thread.
        """
        if self._lost is not None:
            raise self._lost

    def close(self) -> None:
        self._closing()

    def _open(self, end: int) -> None:
        """Compact; on a full disk without a second file, continue after the last complete record."""
        try:
            self._compact()
        except OSError as error:
            if error.errno != errno.ENOSPC or not self._path.exists():
                raise
            logger.warning("the journal is not compacted: %s", error)
            self._use_file(os.open(self._path, os.O_RDWR))
            self._size, self._offset = os.fstat(self._file).st_size, end
            os.pwrite(self._file, bytes(self._size - end), end)

    def _use_file(self, file: int) -> None:
        """Write to this file from now on; it is closed with the journal, or garbage-collected."""
        self._file, self._closing = file, weakref.finalize(self, os.close, file)

    def _append(self, lines: bytes) -> None:
        if self._offset + len(lines) > self._size:
            self._compact()  # this writes the new entries too
            return
        os.pwrite(self._file, lines, self._offset)
        self._offset += len(lines)
        if self._durable:
            os.fdatasync(self._file)

    def _compact(self) -> None:
        whole = b"".join(_line(key, entry) for key, entry in self._entries.items())
        file, size = self._open_spare((len(whole) // CHUNK + 1) * CHUNK)
        try:
            os.pwrite(file, whole + bytes(size - len(whole)), 0)
            os.fsync(file)
            self._former.unlink(missing_ok=True)
            if self._path.exists():
                os.link(self._path, self._former)
            self._spare.replace(self._path)
        except BaseException:
            os.close(file)
            raise
        if self._size:
            self._closing()
        self._use_file(file)
        self._size, self._offset = size, len(whole)
        self._finish_swap()
        self._reserve_spare(size)

    def _open_spare(self, size: int) -> tuple[int, int]:
        """Open the spare file with at least `size` bytes, and return it with its size."""
        file = os.open(self._spare, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            there = os.fstat(file).st_size
            if there < size:
                os.posix_fallocate(file, 0, size)
        except BaseException:
            os.close(file)
            raise
        return file, max(there, size)

    def _finish_swap(self) -> None:
        """Make the former journal, whose blocks stay allocated, the next spare file.

        Raises:
            JournalLost: The folder cannot be written.
        """
        try:
            if self._former.exists():
                self._former.replace(self._spare)
            sync_folder(self._path.parent)
        except OSError as error:
            self._lost = JournalLost(
                f"The folder of the journal {self._path} cannot be written: {error}. Start the agent again"
            )
            raise self._lost from error

    def _repair_names(self) -> None:
        """Repair the names after a crash during a swap of the two files.

        Such a crash leaves the former journal, or a second name of the present one.
        """
        self._path.with_suffix(".new").unlink(missing_ok=True)  # written by agents before there was a spare file
        if self._former.exists():
            is_present = self._path.exists() and self._former.samefile(self._path)
            if is_present or self._spare.exists():
                self._former.unlink()
            else:
                self._former.replace(self._spare)

    def _reserve_spare(self, size: int) -> None:
        """Reserve room for the next compaction, as far as possible."""
        try:
            os.close(self._open_spare(size)[0])
        except OSError as error:
            logger.warning("no room is set aside for the journal: %s", error)

    def _delete_tombstones(self) -> None:
        oldest = time.time() - TOMBSTONE_SECONDS
        self._entries = {
            key: entry
            for key, entry in self._entries.items()
            if entry.run != "gone" or entry.written_at > oldest or key == _EPOCH
        }


def read_entries(path: Path) -> dict[str, Entry]:
    """Return the entries of a journal that another process may be writing; nothing is changed or repaired."""
    return {key: entry for key, entry in _read(path).entries.items() if key != _EPOCH}


@dataclass(frozen=True)
class _JournalContent:
    """Content of a file: last complete record per instance, end of the last one, number of damaged ones."""

    entries: dict[str, Entry]
    end: int
    damaged: int


def _line(instance: str, entry: Entry) -> bytes:
    record = json.dumps({"id": instance, **asdict(entry)}, separators=(",", ":")).encode()
    return b'%s%s%08x"}\n' % (record[:-1], _SUM, zlib.crc32(record))


def _read(path: Path) -> _JournalContent:
    """Read the records; a torn last line is ignored, any earlier line that is not as written is damaged.

    A torn last line was never acknowledged to anybody.
    """
    content = path.read_bytes().rstrip(b"\0") if path.exists() else b""
    end, damaged = content.rfind(b"\n") + 1, 0
    found: dict[str, Entry] = {}
    for line in content[:end].splitlines():
        record = _record(line)
        if record is None:
            damaged += 1
        else:
            found[record[0]] = record[1]
    return _JournalContent(found, end, damaged)


def _record(line: bytes) -> tuple[str, Entry] | None:
    """Parse a record; None if no agent wrote it.

    Unknown fields of a newer agent are left out; older agents wrote no checksum.
    """
    at = len(line) - _SUM_LENGTH
    if line[at:].startswith(_SUM) and line[-10:-2] != b"%08x" % zlib.crc32(line[:at] + b"}"):
        return None
    try:
        record = json.loads(line)
        values = {key: value for key, value in record.items() if key in _FIELDS}
    except (ValueError, AttributeError):
        return None
    sound = all(type(value) is _FIELDS[key] for key, value in values.items())
    known = all(values.get(key, words[0]) in words for key, words in _WORDS.items())
    return (record["id"], Entry(**values)) if sound and known and isinstance(record.get("id"), str) else None


def _keep_copy(path: Path) -> None:
    """Keep a copy of the first damaged journal, for its owner to see."""
    copy = path.with_name(DAMAGED)
    if not copy.exists():
        try:
            shutil.copyfile(path, copy)
        except OSError as error:
            logger.warning("no copy is kept: %s", error)
