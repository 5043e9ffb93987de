"""States of instances in Vast's words: only those that its clients know."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from instances.states import ENDING, InstanceState

LOADING, RUNNING, EXITED, STOPPED = "loading", "running", "exited", "stopped"
_S = InstanceState


@dataclass(frozen=True)
class Status:
    """`actual` is the container's, `current`, `intended` and `coming` are the contract's."""

    actual: str
    current: str
    intended: str
    coming: str


_LOADING: Final = Status(LOADING, RUNNING, RUNNING, RUNNING)
_EXITED: Final = Status(EXITED, STOPPED, STOPPED, STOPPED)
STATUSES: Final[Mapping[str, Status]] = {
    **dict.fromkeys((_S.REQUESTED, _S.WAITING, _S.PROVISIONING, _S.STARTING, _S.RESTARTING, _S.COPYING), _LOADING),
    _S.RUNNING: Status(RUNNING, RUNNING, RUNNING, RUNNING),
    _S.STOPPING: Status(RUNNING, RUNNING, STOPPED, STOPPED),
    **dict.fromkeys((_S.STOPPED, _S.FAILED), _EXITED),
}
UNLISTED: Final = ENDING
"""States of instances that Vast would not list any more."""
