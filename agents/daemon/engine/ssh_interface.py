"""The way in by SSH for images without a server of their own, as the rest of the agent sees it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from agents.daemon.engine.interface import SSH_PORT
from agents.protocol.messages import DesiredInstance


@dataclass(frozen=True)
class Door:
    """Who may come in by SSH, where."""

    port: int  # of the host
    keys: tuple[str, ...] = ()
    password_hash: str = ""
    allow_from: tuple[str, ...] = ()


def doors_of(wanted: Iterable[DesiredInstance]) -> dict[str, Door]:
    """By instance: those that run an image without an SSH server."""
    return {
        item.id: Door(dict(item.ports)[SSH_PORT], tuple(item.ssh_keys), item.password_hash, tuple(item.allow_from))
        for item in wanted
        if item.run == "running" and not item.has_ssh and SSH_PORT in dict(item.ports)
    }


class Bridge(Protocol):
    """Calls may come from any thread."""

    def follow(self, wanted: Iterable[DesiredInstance]) -> None:
        """Let in whom these say, nobody else. Costs nothing while it is so."""

    def answers(self, instance: str) -> bool:
        """Whether SSH of an instance that needs the bridge can be reached."""

    def sessions(self, instance: str) -> int:
        """How many have logged in and are still there."""

    def drop(self, instance: str) -> None:
        """Forget the instance's host key."""

    def leftovers(self, instance: str) -> list[str]: ...

    def stop(self) -> None: ...


class SimulatedBridge:
    """For instances in which nothing runs."""

    def follow(self, wanted: Iterable[DesiredInstance]) -> None:
        return None

    def answers(self, instance: str) -> bool:
        return True

    def sessions(self, instance: str) -> int:
        return 0

    def drop(self, instance: str) -> None:
        return None

    def leftovers(self, instance: str) -> list[str]:
        return []

    def stop(self) -> None:
        return None
