"""Who ended a container, by the events that the engine remembers: its state has an exit code, which says nothing of that."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from agents.daemon.lib.journal import EndedBy

REMEMBERED: Final = 256  # so many events the engine keeps, and forgets them all when it is restarted
WITHIN: Final = timedelta(minutes=10)
_NANO: Final = 1_000_000_000
_HARMLESS: Final = frozenset({"17", "18", "19", "20", "21", "22", "23", "28"})  # signals that end no program


def who_ended(told: Sequence[dict[str, Any]], container: str, *, ordered: bool) -> EndedBy:
    """`told` is everything that the engine remembers, oldest first; `ordered`: this agent itself has stopped it.

    A signal that the engine sent is written down, whoever asked for it. One from inside the container is not, and an exit
    code of 137 can be had from inside at will. So it is the host's doing only when the engine says that it was asked, and
    the engine's when it ended while no engine was there to write it down.
    """
    own = [event for event in told if event.get("Actor", {}).get("ID") == container]
    ended_at = _last(own, "die")
    if ended_at is None:
        return "itself" if ordered or len(told) >= REMEMBERED else "engine"
    # Signals of an earlier run, such as those of the restart that began this one, have ended that.
    since = max(_last(own, "start") or 0, ended_at - int(WITHIN.total_seconds() * _NANO))
    signalled = any(since <= event["timeNano"] <= ended_at and _is_fatal(event) for event in own)
    return "host" if signalled and not ordered else "itself"


def _last(events: Sequence[dict[str, Any]], action: str) -> int | None:
    return max((event["timeNano"] for event in events if event["Action"] == action), default=None)


def _is_fatal(event: dict[str, Any]) -> bool:
    return event["Action"] == "kill" and event["Actor"]["Attributes"].get("signal") not in _HARMLESS
