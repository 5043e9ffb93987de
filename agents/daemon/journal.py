"""What the agent must remember over a crash: accepted fences, and intents written before their side effects."""

import json
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from agents.daemon.runtime import EndedBy
from agents.daemon.whole_files import sync_folder
from agents.protocol.messages import DesiredInstance, Run

CHUNK = 256 * 1024
TOMBSTONE_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True)
class Entry:
    """What is known of one instance. Generations are 0 until something happened."""

    fence: int = 0  # highest accepted
    generation: int = 0  # highest accepted
    run: Run = "running"  # as last accepted
    starting: int = 0  # the generation for which an existing container is being started again…
    started_from: str = ""  # …and its start stamp before that: still the same means not started yet
    accepted: int = 0  # highest generation that passed the acceptance test…
    root: int = 0  # …and the number of the root that it stands on…
    accepted_run: str = ""  # …and the start stamp of that run: another one at the same generation is nobody's order
    ended_run: str = ""  # start stamp of a run that ended unasked…
    ended_by: EndedBy = "itself"  # …and who ended it
    failed: int = 0  # generation that failed for good, and why
    failure_code: str = ""
    failure_detail: str = ""
    disk_made: bool = False  # its data disk was made here: from then on a missing one is lost, and never made again
    written_at: int = 0


_FIELDS = frozenset(item.name for item in fields(Entry))


class Journal:
    """An append-only file of JSON lines in preallocated space, so that a full disk cannot stop it.

    With `durable`, a record is on the disk before the call returns.
    """

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        self._path = path
        self._durable = durable
        self._lock = threading.Lock()
        self._entries = _read_entries(path)
        self._drop_tombstones()
        self._size = self._offset = 0
        self._file = -1
        self._compact()

    def entry(self, instance: str) -> Entry:
        with self._lock:
            return self._entries.get(instance, Entry())

    def entries(self) -> dict[str, Entry]:
        with self._lock:
            return dict(self._entries)

    def record(self, changes: Mapping[str, Entry]) -> None:
        """Write all changes with one sync of the disk."""
        if not changes:
            return
        with self._lock:
            stamped = {key: replace(entry, written_at=int(time.time())) for key, entry in changes.items()}
            self._entries.update(stamped)
            self._append("".join(_line(key, entry) for key, entry in stamped.items()).encode())

    def amend(self, instance: str, **changes: Any) -> None:
        self.record({instance: replace(self.entry(instance), **changes)})

    def note_failure(self, desired: DesiredInstance, code: str, detail: str) -> None:
        """This generation is not tried again."""
        self.amend(desired.id, failed=desired.generation, failure_code=code, failure_detail=detail)

    def close(self) -> None:
        os.close(self._file)

    def _append(self, lines: bytes) -> None:
        if self._offset + len(lines) > self._size:
            self._compact()  # holds the new entries already
            return
        os.pwrite(self._file, lines, self._offset)
        self._offset += len(lines)
        if self._durable:
            os.fdatasync(self._file)

    def _compact(self) -> None:
        whole = "".join(_line(key, entry) for key, entry in self._entries.items()).encode()
        spare = self._path.with_suffix(".new")
        file = os.open(spare, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        os.pwrite(file, whole, 0)
        size = (len(whole) // CHUNK + 1) * CHUNK
        os.posix_fallocate(file, 0, size)
        os.fsync(file)
        spare.replace(self._path)
        sync_folder(self._path.parent)
        if self._file >= 0:
            os.close(self._file)
        self._file, self._size, self._offset = file, size, len(whole)

    def _drop_tombstones(self) -> None:
        oldest = time.time() - TOMBSTONE_SECONDS
        self._entries = {
            key: entry for key, entry in self._entries.items() if entry.run != "gone" or entry.written_at > oldest
        }


def _line(instance: str, entry: Entry) -> str:
    return json.dumps({"id": instance, **asdict(entry)}, separators=(",", ":")) + "\n"


def _read_entries(path: Path) -> dict[str, Entry]:
    """The last whole record of each instance; a torn tail and fields of a newer agent are left out."""
    if not path.exists():
        return {}
    found = {}
    for line in path.read_bytes().split(b"\0", 1)[0].splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            break
        found[record.pop("id")] = Entry(**{key: value for key, value in record.items() if key in _FIELDS})
    return found
