"""Interface to the agent's SSH server, for images that have none of their own."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from agents.daemon.engine.interface import SSH_PORT
from agents.protocol.messages import DesiredInstance


@dataclass(frozen=True)
class SshAccess:
    """SSH access to one instance: port and credentials."""

    port: int  # of the host
    keys: tuple[str, ...] = ()
    password_hash: str = ""
    allow_from: tuple[str, ...] = ()


def ssh_access_of(wanted: Iterable[DesiredInstance]) -> dict[str, SshAccess]:
    """Return the access by instance, for those that run an image without an SSH server."""
    return {
        item.id: SshAccess(dict(item.ports)[SSH_PORT], tuple(item.ssh_keys), item.password_hash, tuple(item.allow_from))
        for item in wanted
        if item.run == "running" and not item.has_ssh and SSH_PORT in dict(item.ports)
    }


class SshGateway(Protocol):
    """SSH server of the agent. Calls may come from any thread."""

    def apply(self, wanted: Iterable[DesiredInstance]) -> None:
        """Admit the users of these instances and nobody else; costs nothing if nothing changed."""

    def answers(self, instance: str) -> bool:
        """Return whether SSH of an instance that needs the agent's server can be reached."""

    def sessions(self, instance: str) -> int:
        """Return the number of open logins."""

    def delete_key(self, instance: str) -> None:
        """Delete the instance's host key."""

    def leftovers(self, instance: str) -> list[str]: ...

    def stop(self) -> None: ...


class SimulatedSshGateway:
    """Simulated SSH, for instances in which nothing runs."""

    def apply(self, wanted: Iterable[DesiredInstance]) -> None:
        return None

    def answers(self, instance: str) -> bool:
        return True

    def sessions(self, instance: str) -> int:
        return 0

    def delete_key(self, instance: str) -> None:
        return None

    def leftovers(self, instance: str) -> list[str]:
        return []

    def stop(self) -> None:
        return None
