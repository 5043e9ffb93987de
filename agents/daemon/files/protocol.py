"""Messages of the file protocol: requests of clients, output of scripts in containers, error codes."""

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

PATH_AT_MOST: Final = 4095  # bytes; Linux accepts no longer path
NAME_AT_MOST: Final = 255
PATHS_AT_MOST: Final = 200
KEY_AT_MOST: Final = 200
LARGEST: Final = 2**53
PARTIAL: Final = ".berth-part"
_NAME_KEPT: Final = 180
_TEXT_AT_MOST: Final = 300
_NOT_FOUND: Final = (126, 127)
_MOST_DIGITS: Final = 18
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_ROOM: Final = re.compile(rb"(\d+) +(\d+) +(-?\d+) +\d+% +/")

# Details for the codes with which a script refuses (`berth:<code>`).
REFUSALS: Final = {
    "missing": "No file or folder has this name.",
    "exists": "A file or folder with this name already exists.",
    "not_folder": "This is no folder.",
    "is_folder": "A folder with this name exists.",
    "not_file": "This is not a regular file.",
    "not_kept": "This is a system folder; choose a folder inside it.",
    "no_tar": "This image has no tar, so folders cannot be packed. Single files can be downloaded.",
    "no_words": "This image lacks required programs (stat, sha256sum).",
    "no_room": "The disk does not have enough space for this file.",
    "short": "Less data arrived than the file's size.",
    "checksum_differs": "The received data differs from what was sent and was discarded.",
    "mounted": "A disk is mounted here; it can be emptied, but not deleted.",
    "forbidden": "Reading or writing here is not allowed.",
}
# Messages of the kernel's errors in the C locale: glibc's, and musl's where they differ.
_REASONS: Final = (
    ("No space left on device", "disk_full", "The disk is full."),
    ("uota exceeded", "disk_full", "The disk is full."),
    ("Read-only file system", "read_only", "This disk is read-only."),
    ("Permission denied", "forbidden", "Reading or writing here is not allowed."),
    ("Operation not permitted", "forbidden", "Reading or writing here is not allowed."),
    ("No such file or directory", "missing", "No file or folder has this name."),
    ("nonexistent", "missing", "This folder does not exist."),
    ("Not a directory", "not_folder", "This is no folder."),
    ("Is a directory", "is_folder", "A folder with this name exists."),
    ("File exists", "exists", "A file or folder with this name already exists."),
    ("ame too long", "name_too_long", "The name is too long."),
    ("esource busy", "mounted", "A disk is mounted here, or a program is using it."),
    ("subdirectory of itself", "into_itself", "A folder cannot be moved into itself."),
    ("Cannot allocate memory", "no_memory", "The instance is out of memory."),
)


class FileRefusal(Exception):
    """A request is refused; `code` is for programs."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


@dataclass(frozen=True)
class ContainerPath:
    """Path in the container: absolute, and otherwise any that Linux accepts."""

    path: bytes

    @property
    def folder(self) -> bytes:
        return self.path.rpartition(b"/")[0]

    @property
    def name(self) -> bytes:
        return self.path.rpartition(b"/")[2]

    def named(self) -> "ContainerPath":
        """Return the path if it names something that can be made, moved or removed.

        Raises:
            FileRefusal: It has no name of its own, or one that is too long.
        """
        if self.name in (b"", b".", b".."):
            raise FileRefusal("bad_path", "Specify a file or folder.")
        if len(self.name) > NAME_AT_MOST:
            raise FileRefusal("name_too_long", "The name is too long.")
        return self

    def unfinished(self, key: str) -> bytes:
        """Return the path of the incomplete file during an upload."""
        return self.folder + b"/." + self.name[:_NAME_KEPT] + f".{key}{PARTIAL}".encode()


class Request:
    """One request. Each reader raises FileRefusal for a malformed value; `tag` goes into every answer."""

    def __init__(self, words: Mapping[str, Any], tag: Mapping[str, Any]) -> None:
        self._words = words
        self.tag = tag

    def place(self, name: str = "path") -> ContainerPath:
        return _place(self._words.get(name))

    def places(self) -> list[ContainerPath]:
        found = self._words.get("paths", [self._words.get("path")])
        if not isinstance(found, list) or not 0 < len(found) <= PATHS_AT_MOST:
            raise FileRefusal("bad_path", f"Up to {PATHS_AT_MOST} paths at a time.")
        return [_place(item) for item in found]

    def number(self, name: str, default: int | None) -> int:
        value = self._words.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LARGEST:
            raise FileRefusal("bad_request", f"{name} must be a whole number.")
        return value

    def flag(self, name: str) -> bool:
        return self._words.get(name) is True

    def text(self, name: str) -> str:
        value = self._words.get(name, "")
        if not isinstance(value, str) or len(value) > KEY_AT_MOST:
            raise FileRefusal("bad_request", f"{name} must be a short text.")
        return value

    def sha256(self, words: Mapping[str, Any] | None = None) -> str:
        """Return the checksum of the whole file, or ""."""
        value = (self._words if words is None else words).get("sha256") or ""
        if value and not (isinstance(value, str) and _SHA256.fullmatch(value)):
            raise FileRefusal("bad_request", "sha256 must be 64 hexadecimal digits.")
        return str(value)


@dataclass(frozen=True)
class Listing:
    """Entries of a folder in byte order; `free_kb` is None if unknown, `more` says that there are others."""

    entries: list[dict[str, Any]]
    free_kb: int | None
    more: bool


def parse_listing(output: bytes, mark: str) -> Listing:
    """Parse the output of the LIST script; `mark` occurs in no name, so names may hold anything."""
    head, *pieces = output.split(mark.encode())
    entries: dict[bytes, dict[str, Any]] = {}
    for piece in pieces:
        how, mode, size, changed, name = _fields(piece)
        if not name:
            continue
        if how == "-L":  # the target of a link
            if name in entries:
                entries[name] |= {"size": size, "leads_to": _kind(mode)}
            continue
        own = {"name": os.fsdecode(name), "kind": _kind(mode), "size": size, "changed_at": changed}
        entries[name] = own | ({"unfinished": True} if name.endswith(PARTIAL.encode()) else {})
    room = _ROOM.search(head)
    free = max(0, int(room.group(3))) if room else None
    return Listing(list(entries.values()), free, any(piece == b"!" for piece in pieces))


def parse_file_head(line: bytes) -> tuple[str, int, int]:
    """Parse kind, size and time of the file that follows; the kind is empty if the line is malformed."""
    kind, _, rest = line.partition(b" ")
    size, _, changed = rest.partition(b" ")
    if not (size.isdigit() and changed.lstrip(b"-").isdigit()):
        return "", 0, 0
    return kind.decode(errors="replace"), int(size), int(changed)


def parse_checksum(output: bytes) -> str:
    """Return the checksum of a complete file; empty if the image has no program to compute it."""
    for line in output.splitlines():
        if line.startswith(b"done "):
            return line.removeprefix(b"done ").decode(errors="replace").strip()
    raise FileRefusal("failed", "The file was not written completely.")


def parse_size(output: bytes) -> int:
    text = output.strip()
    if not text.isdigit() or len(text) > _MOST_DIGITS:
        raise FileRefusal("failed", "The file could not be read.")
    return int(text)


def parse_sum(output: bytes) -> str:
    """Parse the output of `sha256sum`."""
    found = output.partition(b" ")[0].decode(errors="replace")
    if not _SHA256.fullmatch(found):
        raise FileRefusal("failed", "The checksum could not be computed.")
    return found


def error_for(code: int | None, complaints: bytes) -> FileRefusal:
    """Return why a program ended with this exit code."""
    text = complaints.decode(errors="replace")
    own = text.rpartition("berth:")[2].split("\n")[0] if "berth:" in text else ""
    if own in REFUSALS:
        return FileRefusal(own, REFUSALS[own])
    for mark, kind, words in _REASONS:
        if mark in text:
            return FileRefusal(kind, words)
    if code in _NOT_FOUND:
        return FileRefusal("no_words", REFUSALS["no_words"])
    last = text.strip().rpartition("\n")[2][:_TEXT_AT_MOST]
    return FileRefusal("failed", last or f"A program in the instance exited with code {code}.")


def _place(value: Any) -> ContainerPath:
    if not isinstance(value, str):
        raise FileRefusal("bad_path", "A path is a text.")
    try:
        path = os.fsencode(value)
    except UnicodeEncodeError as error:
        raise FileRefusal("bad_path", "This path cannot be encoded.") from error
    if not path.startswith(b"/") or b"\0" in path or len(path) > PATH_AT_MOST:
        raise FileRefusal("bad_path", "A path starts with / and has at most 4,095 bytes.")
    return ContainerPath(b"/" + path.strip(b"/") if path.strip(b"/") else b"/")


def _fields(piece: bytes) -> tuple[str, int, int, int, bytes]:
    """Parse `how mode size changed ./name` and the line's end; the name is empty if it is malformed."""
    how, _, rest = piece.partition(b" ")
    mode, _, rest = rest.partition(b" ")
    size, _, rest = rest.partition(b" ")
    changed, _, name = rest.partition(b" ")
    if not name.startswith(b"./") or not size.isdigit():
        return "", 0, 0, 0, b""
    try:
        return how.decode(), int(mode, 16), int(size), int(changed), name[2:].removesuffix(b"\n")
    except ValueError:
        return "", 0, 0, 0, b""


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISLNK(mode):
        return "link"
    return "file" if stat.S_ISREG(mode) else "other"
