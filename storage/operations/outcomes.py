"""Outcomes of operations; those that hold what a renter's programs wrote are encrypted before they are stored."""

import json
from collections.abc import Mapping
from typing import Final

from common.encryption import decrypt, encrypt
from storage.models import Operation

_PRIVATE_KINDS: Final = frozenset({"run_command", "read_log"})
_SEALED: Final = "sealed"


def stored_outcome(kind: str, outcome: Mapping[str, str]) -> dict[str, str]:
    """Return the outcome as it is written to an operation of this kind."""
    return {_SEALED: encrypt(json.dumps(dict(outcome)))} if kind in _PRIVATE_KINDS else dict(outcome)


def outcome_of(operation: Operation) -> dict[str, str]:
    """Return what the agent reported at the operation's end.

    Raises:
        CannotDecrypt: it was encrypted under another key.
    """
    stored = dict(operation.outcome)
    if operation.kind not in _PRIVATE_KINDS or _SEALED not in stored:
        return stored  # in the clear too where an earlier version recorded it
    return dict(json.loads(decrypt(stored[_SEALED])))
