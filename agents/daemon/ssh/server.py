"""SSH server for instances whose image has none: a port for each, and connections by tunnel.

It runs in a thread of its own with an event loop, separate from that of the streams.
"""

import asyncio
import ipaddress
import logging
import socket
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import asyncssh

from agents.daemon.control_plane.port_check import open_server
from agents.daemon.engine.exec_interface import Command, ExecInterface, Terminal
from agents.daemon.engine.interface import SSH_PORT
from agents.daemon.engine.ssh_interface import SshAccess, ssh_access_of
from agents.daemon.ssh.auth import ClientConnection, Credentials, InstanceEndpoint, peer_of, server_options
from agents.daemon.ssh.keys import HostKeys, known_keys
from agents.daemon.ssh.session import TerminalExec, send_signal
from agents.protocol.messages import DesiredInstance

logger = logging.getLogger(__name__)

UNAUTHENTICATED_AT_ONCE: Final = 24  # connections to one instance that have not logged in yet
UNAUTHENTICATED_PER_ADDRESS: Final = 8  # and those from one address, so that nobody can keep all others out
CONNECTIONS_AT_ONCE: Final = 64
AGAIN_S: Final = 1.0
FOLLOW_S: Final = 10.0
HASHERS: Final = 2
CALLS_AT_ONCE: Final = 48


@dataclass(eq=False)
class _Connection:
    """One connection."""

    wire: socket.socket
    peer: tuple[str, int]
    by_tunnel: bool
    logged_in: bool = False
    conn: asyncssh.SSHServerConnection | None = None
    task: asyncio.Task[None] | None = None


@dataclass(eq=False)
class _OpenInstance:
    """One instance that accepts connections."""

    access: SshAccess
    entry: Credentials
    endpoint: InstanceEndpoint
    host_key: asyncssh.SSHKey
    listener: socket.socket | None = None
    is_late: bool = False  # the port was in use at first
    accepting: asyncio.Task[None] | None = None
    clients: set[_Connection] = field(default_factory=set)


class EmbeddedSshGateway:
    """SSH server. `listen` is the address to publish ports on, None where they would be unreachable."""

    def __init__(self, exec_interface: TerminalExec, keys: HostKeys, listen: str | None) -> None:
        logging.getLogger("asyncssh").setLevel(logging.ERROR)  # it would log what renters type
        self._exec_interface = exec_interface
        self._keys = keys
        self._listen = listen
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._accesses: dict[str, SshAccess] = {}
        self._open: dict[str, _OpenInstance] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._over = asyncio.Event()
        self._hashing = ThreadPoolExecutor(HASHERS, thread_name_prefix="passwords")

    # -- for other threads

    def apply(self, wanted: Iterable[DesiredInstance]) -> None:
        """Open and close ports as these instances require.

        A closed port is free when this returns: the next container may need it.
        """
        accesses = ssh_access_of(wanted)
        if accesses == self._accesses and all(self.answers(instance) for instance in accesses):
            return
        self._accesses = accesses
        if not accesses and self._loop is None:
            return
        work = asyncio.run_coroutine_threadsafe(self._sync_listeners(), self._ensure_loop())
        try:
            work.result(FOLLOW_S)
        except Exception:  # the next sync tries again
            logger.exception("the bridge for SSH could not be arranged")

    def answers(self, instance: str) -> bool:
        found = self._open.get(instance)
        return found is not None and (self._listen is None or found.listener is not None)

    def sessions(self, instance: str) -> int:
        found = self._open.get(instance)
        return 0 if found is None else sum(client.logged_in for client in list(found.clients))

    def connection(self, instance: str) -> socket.socket | None:
        """Return a connection to an instance's SSH, like one from outside; None if its image has its own."""
        loop = self._loop
        if loop is None or instance not in self._open:
            return None
        near, far = socket.socketpair()
        loop.call_soon_threadsafe(self._admit, instance, far, True)
        return near

    def delete_key(self, instance: str) -> None:
        self._keys.delete(instance)

    def leftovers(self, instance: str) -> list[str]:
        return self._keys.leftovers(instance)

    def stop(self) -> None:
        """End all connections; programs in containers get SIGHUP if there is time."""
        with self._starting:
            if self._loop is not None and self._thread is not None and self._thread.is_alive():
                self._loop.call_soon_threadsafe(self._loop.create_task, self._end())
                self._thread.join(10)
        self._hashing.shutdown(wait=False, cancel_futures=True)

    def _ensure_loop(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, args=(self._loop,), name="bridge", daemon=True)
                self._thread.start()
            return self._loop

    # -- in the thread of its own

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        # A slow port in one container must not delay the others.
        loop.set_default_executor(ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="bridge"))
        with asyncio.Runner(loop_factory=lambda: loop) as runner:  # it cancels and awaits all remaining tasks at its end
            runner.run(self._live())

    async def _live(self) -> None:
        await self._over.wait()
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _end(self) -> None:
        self._accesses = {}
        try:
            await self._sync_listeners()
        finally:
            self._over.set()

    async def _sync_listeners(self) -> None:
        """Make the open instances equal to the wanted ones."""
        accesses = self._accesses
        for instance in [
            key for key, own in self._open.items() if key not in accesses or accesses[key].port != own.access.port
        ]:
            await self._shut(self._open.pop(instance))
        for instance, access in accesses.items():
            own = self._open.get(instance)
            if own is None:
                own = self._open[instance] = self._opened(instance, access)
                self._spawn(send_signal(self._exec_interface, instance, "HUP"))  # what an earlier run of this agent left
            elif own.access != access:
                own.access, own.entry = access, _entry(access)
                await self._disconnect(own, partial(_is_denied, access))
            if own.listener is None and self._listen is not None and not own.is_late:
                self._bind(instance, own)

    def _opened(self, instance: str, access: SshAccess) -> _OpenInstance:
        def current() -> Credentials:
            found = self._open.get(instance)
            return Credentials() if found is None else found.entry

        endpoint = InstanceEndpoint(instance, self._exec_interface, self._spawn, current, self._hashing)
        return _OpenInstance(access, _entry(access), endpoint, self._keys.of(instance))

    def _bind(self, instance: str, own: _OpenInstance) -> None:
        try:
            own.listener = open_server(self._listen or "", own.access.port, backlog=128)
        except OSError as error:
            if not own.is_late:
                logger.warning("SSH of %s cannot be offered yet at port %d: %s", instance, own.access.port, error)
            own.is_late = True
            asyncio.get_running_loop().call_later(AGAIN_S, self._bind_again, instance, own)
            return
        own.is_late = False
        own.listener.setblocking(False)
        own.accepting = asyncio.create_task(self._accept(instance, own.listener))

    def _bind_again(self, instance: str, own: _OpenInstance) -> None:
        if self._open.get(instance) is own and own.listener is None:
            self._bind(instance, own)

    async def _accept(self, instance: str, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                wire, _ = await loop.sock_accept(listener)
            except OSError as error:  # too many open files, for example
                logger.warning("SSH of %s: %s", instance, error)
                await asyncio.sleep(AGAIN_S)
                continue
            self._admit(instance, wire, False)

    def _admit(self, instance: str, wire: socket.socket, by_tunnel: bool) -> None:
        """Accept a connection, or close it silently if the address is not allowed or too many are open."""
        own = self._open.get(instance)
        try:
            client = _Connection(wire, peer_of(wire), by_tunnel)
        except OSError:  # gone already
            wire.close()
            return
        if own is None or not is_allowed(own.access, client) or _too_many(own.clients, client):
            wire.close()
            return
        own.clients.add(client)
        client.task = asyncio.create_task(self._host(own, client))
        client.task.add_done_callback(partial(_on_disconnect, own, client))  # a cancelled task may never start

    async def _host(self, own: _OpenInstance, client: _Connection) -> None:
        """Serve one connection from start to end."""

        def arrived() -> None:
            client.logged_in = True

        try:
            options = await server_options(own.host_key, lambda: ClientConnection(own.endpoint, client.peer, arrived))
            client.conn = await asyncssh.run_server(client.wire, options=options)
            await client.conn.wait_closed()
        except (OSError, asyncssh.Error):
            pass  # the client did not log in, or left
        except Exception:  # an error in one connection must not affect others
            logger.exception("a connection of SSH broke off")

    async def _shut(self, own: _OpenInstance) -> None:
        if own.accepting is not None:
            own.accepting.cancel()
            await asyncio.gather(own.accepting, return_exceptions=True)
        if own.listener is not None:
            own.listener.close()
        await self._disconnect(own, lambda _guest: True)

    async def _disconnect(self, own: _OpenInstance, unwanted: Callable[[_Connection], bool]) -> None:
        tasks = []
        for client in [item for item in own.clients if unwanted(item)]:
            if client.conn is not None:
                client.conn.abort()
            elif client.task is not None:
                client.task.cancel()
            if client.task is not None:
                tasks.append(client.task)
        if tasks:
            await asyncio.wait(tasks, timeout=FOLLOW_S / 2)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class SshRoutedExec:
    """Exec interface whose port 22 leads to the agent's SSH server where an instance needs it."""

    def __init__(self, exec_interface: ExecInterface, bridge: EmbeddedSshGateway) -> None:
        self._exec_interface = exec_interface
        self._bridge = bridge

    def connect(self, instance: str, port: int) -> socket.socket:
        found = self._bridge.connection(instance) if port == SSH_PORT else None
        return self._exec_interface.connect(instance, port) if found is None else found

    def terminal(self, instance: str, session: str, size: tuple[int, int]) -> Terminal:
        return self._exec_interface.terminal(instance, session, size)

    def command(self, instance: str, words: Sequence[str], env: Mapping[str, str]) -> Command:
        return self._exec_interface.command(instance, words, env)

    def hang_up(self, instance: str, keep: Sequence[str]) -> None:
        self._exec_interface.hang_up(instance, keep)

    def close(self) -> None:
        self._exec_interface.close()


def _on_disconnect(own: _OpenInstance, client: _Connection, _ended: asyncio.Task[None]) -> None:
    own.clients.discard(client)
    client.wire.close()


def _is_denied(access: SshAccess, client: _Connection) -> bool:
    return not is_allowed(access, client)


def is_allowed(access: SshAccess, client: _Connection) -> bool:
    """Return whether the guest's address is allowed; the relay has already checked those of tunnels."""
    if client.by_tunnel or not access.allow_from:
        return True
    with suppress(ValueError):
        address = ipaddress.ip_address(client.peer[0])
        return any(address in ipaddress.ip_network(text, strict=False) for text in access.allow_from)
    return False


def _entry(access: SshAccess) -> Credentials:
    return Credentials(known_keys(access.keys), access.password_hash)


def _too_many(clients: Iterable[_Connection], fresh: _Connection) -> bool:
    own = list(clients)
    strangers = [client for client in own if not client.logged_in]
    from_one = [client for client in strangers if client.peer[0] == fresh.peer[0] and not fresh.by_tunnel]
    return (
        len(strangers) >= UNAUTHENTICATED_AT_ONCE
        or len(from_one) >= UNAUTHENTICATED_PER_ADDRESS
        or len(own) >= CONNECTIONS_AT_ONCE
    )
