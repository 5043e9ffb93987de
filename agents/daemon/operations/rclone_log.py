"""Parser of rclone's log: progress, result, and the cause of a failure as one of our codes."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agents.protocol.codec import parse_json_object

DIRECTORY_MISSING: Final = 3
# Text of rclone or an object storage → our code and a sentence. The first match counts.
_KNOWN_ERRORS: Final[tuple[tuple[str, str, str], ...]] = (
    ("no space left on device", "disk_full", "The disk is full."),
    ("remaining disk space", "disk_full", "The disk is full."),
    ("disk quota exceeded", "disk_full", "The disk is full."),
    ("nosuchbucket", "bucket_missing", "The object storage has no such bucket any more."),
    ("invalidaccesskeyid", "storage_login_refused", "The object storage does not take the access key any more."),
    ("signaturedoesnotmatch", "storage_login_refused", "The object storage does not take the secret key any more."),
    ("accessdenied", "storage_login_refused", "The access key may not do this."),
    ("forbidden", "storage_login_refused", "The access key may not do this."),
    ("quotaexceeded", "storage_full", "The object storage is full."),
    ("no such host", "storage_unreachable", "The host cannot find the object storage's name."),
    ("x509", "storage_unreachable", "The object storage's certificate is not trusted."),
    ("connection refused", "storage_unreachable", "The object storage does not answer."),
    ("i/o timeout", "storage_unreachable", "The host does not reach the object storage."),
    ("deadline exceeded", "storage_unreachable", "The object storage answers too slowly."),
    ("no route to host", "storage_unreachable", "The host does not reach the object storage."),
    ("network is unreachable", "storage_unreachable", "The host does not reach the object storage."),
)
# A signature in a URL is a temporary login.
_QUERY: Final = re.compile(r"\?[^\s\"']*")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")


@dataclass(frozen=True)
class SyncStats:
    """Files and bytes of one sync; `same_files` existed already."""

    done_bytes: int = 0
    total_bytes: int = 0
    copied_files: int = 0
    total_files: int = 0
    same_files: int = 0
    deleted_files: int = 0

    @property
    def outcome(self) -> dict[str, str]:
        return {
            "copied_bytes": str(self.done_bytes),
            "copied_files": str(self.copied_files),
            "same_files": str(self.same_files),
            "deleted_files": str(self.deleted_files),
        }


@dataclass(frozen=True)
class SyncLog:
    """Last figures of a log, and its errors, the latest last."""

    stats: SyncStats | None
    faults: tuple[str, ...]


def read_log(raw: bytes) -> SyncLog:
    """Parse the log of rclone with --use-json-log; other lines are skipped."""
    stats, faults = None, []
    for line in raw.decode(errors="replace").splitlines():
        entry = parse_json_object(line)
        if isinstance(entry.get("stats"), Mapping):
            stats = _stats(entry["stats"])
        elif entry.get("level") in ("error", "critical"):
            where = f"{entry['object']}: " if entry.get("object") else ""
            faults.append(where + str(entry.get("msg", "")))
    return SyncLog(stats, tuple(faults))


def failure_of(code: int, faults: Iterable[str], secrets: Iterable[str]) -> tuple[str, str]:
    """Return (our code, a sentence) for a sync that ended with this status of rclone."""
    messages = list(faults)
    everything = " ".join(messages).lower().replace(" ", "")
    for words, name, sentence in _KNOWN_ERRORS:
        if words.replace(" ", "") in everything:
            return name, sentence
    if code == DIRECTORY_MISSING:
        return "folder_missing", "There is no such folder to copy from."
    last = next((line for line in reversed(messages) if not line.startswith("Attempt ")), "")
    return "sync_failed", _redact(last, secrets) or f"The copying ended with status {code}."


def _redact(text: str, secrets: Iterable[str]) -> str:
    """Return the text as one line, without any part of a login."""
    text = _QUERY.sub("", text)
    for secret in filter(None, secrets):
        text = text.replace(secret, "…")
    return _CONTROL.sub(" ", text).strip()[:250]


def _stats(entry: Mapping[str, Any]) -> SyncStats:
    def count(name: str) -> int:
        found = entry.get(name)
        return max(0, int(found)) if isinstance(found, int | float) else 0

    checked, copied = count("checks"), count("transfers")
    return SyncStats(
        done_bytes=count("bytes"),
        total_bytes=count("totalBytes"),
        copied_files=copied,
        total_files=max(count("totalTransfers"), copied),
        same_files=checked,
        deleted_files=count("deletes"),
    )
