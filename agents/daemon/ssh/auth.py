"""Authentication of SSH connections, and what a connection may request."""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

import asyncssh
from asyncssh.forward import SSHForwarder

from agents.daemon.engine.exec_stream import open_in_thread
from agents.daemon.engine.interface import EngineRefused, EngineSilent
from agents.daemon.ssh.keys import is_password
from agents.daemon.ssh.session import Spawn, SshSession, TerminalExec

logger = logging.getLogger(__name__)

USER: Final = "root"
VERSION: Final = "Berth"
LOGIN_S: Final = 30.0
TRIES: Final = 6
WRONG_PAUSE_S: Final = 0.5
ALIVE_EVERY_S: Final = 60.0
CHANNELS_AT_ONCE: Final = 128  # of one instance: what each may buffer is this machine's memory
WINDOW: Final = 1024 * 1024
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Credentials:
    """Credentials that admit a client at the moment."""

    keys: frozenset[bytes] = frozenset()
    password_hash: str = ""


@dataclass
class InstanceEndpoint:
    """One instance as its connections see it."""

    instance: str
    exec_interface: TerminalExec
    spawn: Spawn
    current: Callable[[], Credentials]
    hashing: Executor  # few at a time: a password check takes 16 MiB and 50 ms
    channels: int = 0

    def acquire(self) -> bool:
        if self.channels >= CHANNELS_AT_ONCE:
            return False
        self.channels += 1
        return True

    def release(self) -> None:
        self.channels -= 1


class ClientConnection(asyncssh.SSHServer):
    """One SSH connection.

    Agent forwarding, X11 and remote port forwarding are refused by the library's defaults and by `server_options`.
    """

    def __init__(self, endpoint: InstanceEndpoint, peer: tuple[str, int], arrived: Callable[[], None]) -> None:
        self._endpoint = endpoint
        self._peer = peer
        self._arrived = arrived
        self._tries = 0
        self._conn: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._conn = conn

    def begin_auth(self, username: str) -> bool:
        if username != USER and self._conn is not None:
            self._conn.send_auth_banner("This instance is entered as root.\r\n")
        return True

    def auth_completed(self) -> None:
        self._arrived()

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return username == USER and key.public_data in self._endpoint.current().keys

    def password_auth_supported(self) -> bool:
        return bool(self._endpoint.current().password_hash)

    async def validate_password(self, username: str, password: str) -> bool:
        self._tries += 1
        if self._tries > TRIES:
            raise asyncssh.DisconnectError(asyncssh.DISC_NO_MORE_AUTH_METHODS_AVAILABLE, "Too many wrong passwords")
        hashed = self._endpoint.current().password_hash
        right = await asyncio.get_running_loop().run_in_executor(self._endpoint.hashing, is_password, password, hashed)
        if right and username == USER:
            return True
        await asyncio.sleep(WRONG_PAUSE_S)
        return False

    def session_requested(self) -> SshSession:
        if not self._endpoint.acquire():
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_RESOURCE_SHORTAGE, "Too many sessions of this instance.")
        endpoint = self._endpoint
        return SshSession(endpoint.exec_interface, endpoint.instance, self._peer, endpoint.spawn, endpoint.release)

    def connection_requested(
        self, dest_host: str, dest_port: int, orig_host: str, orig_port: int
    ) -> Awaitable[asyncssh.SSHTCPSession[bytes]]:
        if dest_host not in _LOOPBACK:
            raise asyncssh.ChannelOpenError(
                asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED, "Only ports of the instance's 127.0.0.1 can be forwarded."
            )
        return self._forward(dest_port)

    async def _forward(self, port: int) -> Any:
        """Open a connection inside the container's own network."""
        if not self._endpoint.acquire():
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_RESOURCE_SHORTAGE, "Too many connections to this instance.")
        with ExitStack() as otherwise:
            otherwise.callback(self._endpoint.release)
            try:
                inside = await open_in_thread(self._endpoint.exec_interface.connect, self._endpoint.instance, port)
                inside.setblocking(False)
                _, peer = await asyncio.get_running_loop().create_connection(SSHForwarder, sock=inside)
            except (OSError, EngineRefused, EngineSilent) as error:
                raise asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, f"Port {port} is closed.") from error
            otherwise.pop_all()
        return _Forwarded(peer, self._endpoint.release)


class _Forwarded(SSHForwarder):
    """The client's side of a forwarded connection."""

    def __init__(self, peer: SSHForwarder, ended: Callable[[], None]) -> None:
        super().__init__(peer)
        self._ended: Callable[[], None] | None = ended

    def eof_received(self) -> bool:
        """Close the connection if both sides have ended; neither the library nor the event loop would do so."""
        goes_on = super().eof_received()
        if not goes_on:
            self.close()
        return goes_on

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        ended, self._ended = self._ended, None
        if ended is not None:
            ended()


async def server_options(
    host_key: asyncssh.SSHKey, visitor: Callable[[], ClientConnection]
) -> asyncssh.SSHServerConnectionOptions:
    made: asyncssh.SSHServerConnectionOptions = await asyncssh.SSHServerConnectionOptions.construct(
        server_factory=visitor,
        server_host_keys=[host_key],
        server_version=VERSION,
        encoding=None,
        window=WINDOW,
        line_editor=False,
        agent_forwarding=False,
        x11_forwarding=False,
        compression_algs=None,
        host_based_auth=False,
        gss_host=None,
        rdns_lookup=False,
        login_timeout=LOGIN_S,
        keepalive_interval=ALIVE_EVERY_S,
    )
    return made


def peer_of(wire: socket.socket) -> tuple[str, int]:
    """Return the peer's address; this machine's own for connections through a tunnel."""
    found = wire.getpeername() if wire.family in (socket.AF_INET, socket.AF_INET6) else ()
    return (str(found[0]), int(found[1])) if found else ("127.0.0.1", 0)
