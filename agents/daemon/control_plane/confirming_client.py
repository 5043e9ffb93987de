"""Link that records its first accepted sync, by which an upgrade verifies that the new agent works."""

import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agents.daemon import __version__
from agents.daemon.control_plane.http_client import Link
from agents.daemon.lib.atomic_files import write_atomically
from agents.protocol.messages import DesiredState, Report
from agents.protocol.version import SUPPORTED

CONFIRMATION_FILE: Final = "synced.json"


@dataclass(frozen=True)
class SyncConfirmation:
    """Program whose sync the market accepted last, as the first one of its process."""

    version: str
    program: str  # its virtual environment
    pid: int
    boot: str


class ConfirmingLink(Link):
    """Link of a running agent; it writes the note at the first accepted sync of its process."""

    def __init__(self, *, url: str, host_id: str, key: Ed25519PrivateKey, state: Path) -> None:
        super().__init__(url=url, host_id=host_id, key=key)
        self._note_at: Path | None = state / CONFIRMATION_FILE

    def sync(self, report: Report) -> DesiredState:
        desired = super().sync(report)
        if self._note_at is not None and desired.protocol in SUPPORTED:
            note = SyncConfirmation(__version__, sys.prefix, os.getpid(), self.boot_id)
            with suppress(OSError):  # a full disk must not stop the agent
                write_atomically(self._note_at, json.dumps(asdict(note)).encode())
            self._note_at = None
        return desired


def read_confirmation(state: Path) -> SyncConfirmation | None:
    """Return the last note, or None if no agent of this folder has synced."""
    try:
        return SyncConfirmation(**json.loads((state / CONFIRMATION_FILE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
