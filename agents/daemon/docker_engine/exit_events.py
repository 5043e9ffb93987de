"""Cause of a container's end, from the events that the engine keeps; the exit code does not tell it."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from agents.daemon.lib.journal import EndedBy

REMEMBERED: Final = 256  # events that the engine keeps; a restart of the engine loses them all
WITHIN: Final = timedelta(minutes=10)
_NANO: Final = 1_000_000_000
_HARMLESS: Final = frozenset({"17", "18", "19", "20", "21", "22", "23", "28"})  # signals that end no program


def who_ended(events: Sequence[dict[str, Any]], container: str, *, ordered: bool) -> EndedBy:
    """Return who ended a container.

    `events` are all events that the engine keeps, oldest first; `ordered` says that this agent itself stopped the
    container.

    The engine records signals that it sent, whoever asked for them. It does not record signals from inside the
    container, and an exit code of 137 can be produced inside at will. So the host counts as the cause only if the
    engine was asked for a signal, and the engine itself if the container ended while no engine was there to record
    it.
    """
    own = [event for event in events if event.get("Actor", {}).get("ID") == container]
    ended_at = _last(own, "die")
    if ended_at is None:
        return "itself" if ordered or len(events) >= REMEMBERED else "engine"
    # Signals of an earlier run, such as those of the restart that began this run, ended that earlier run.
    since = max(_last(own, "start") or 0, ended_at - int(WITHIN.total_seconds() * _NANO))
    signalled = any(since <= event["timeNano"] <= ended_at and _is_fatal(event) for event in own)
    return "host" if signalled and not ordered else "itself"


def _last(events: Sequence[dict[str, Any]], action: str) -> int | None:
    return max((event["timeNano"] for event in events if event["Action"] == action), default=None)


def _is_fatal(event: dict[str, Any]) -> bool:
    return event["Action"] == "kill" and event["Actor"]["Attributes"].get("signal") not in _HARMLESS
