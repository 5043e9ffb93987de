"""TCP ports of the relay that lead to instances on hosts that cannot be reached from outside."""

import asyncio
import ipaddress
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from agents.protocol.tickets import BadTicket
from agents.relay.connection_registry import ConnectionRegistry, DialError
from agents.relay.stream_endpoints import TcpEnd, WebSocketEnd, join
from agents.relay.ticket_checks import TicketChecker

logger = logging.getLogger("berth.relay")

AT_ONCE: Final = 128  # connections of one port
MAX_PORTS: Final = 2_048  # ports of one host
MAX_NETWORKS: Final = 64  # networks of one port; the market allows half as many
SWEEP_S: Final = 15.0


@dataclass(frozen=True)
class ListenerClaim:
    """One port as a host's agent claims it; `allow` are the networks that may connect, empty for all."""

    port: int
    host: str
    expires_at: int
    allow: tuple[str, ...] = ()

    def admits(self, address: str) -> bool:
        if not self.allow:
            return True
        try:
            peer = ipaddress.ip_address(address)
            mapped = getattr(peer, "ipv4_mapped", None) or peer
            return any(mapped in ipaddress.ip_network(network, strict=False) for network in self.allow)
        except ValueError:
            return False


@dataclass
class TcpListener:
    """A listening port and its open connections."""

    claim: ListenerClaim
    server: asyncio.Server
    connections: set[asyncio.Task[None]] = field(default_factory=set)


class _NotAllowed(Exception):
    """The host claims a port that is not its own, or the claim is malformed."""


class TcpListeners:
    """Opens the relay ports that connected agents hold tickets for, within the relay's own range."""

    def __init__(self, hub: ConnectionRegistry, ticket_checker: TicketChecker, *, listen: str, ports: range) -> None:
        self._hub = hub
        self._ticket_checker = ticket_checker
        self._listen = listen
        self._ports = ports
        self._listeners: dict[int, TcpListener] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._lock = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._listeners)

    async def settle(self, host: str, wanted: Iterable[Any]) -> None:
        """Make these the host's ports, and no others; connections of a port that stays are left alone."""
        claims, wrong = {}, []
        for row in islice(wanted, MAX_PORTS):
            try:
                claim = self._claim(host, row)
                claims[claim.port] = claim
            except _NotAllowed as error:
                wrong.append(str(error))
        if wrong:
            logger.warning("host %s asks for %d ports without leave, the first: %s", host, len(wrong), wrong[0])
        async with self._lock:
            for port in [
                port for port, listener in self._listeners.items() if listener.claim.host == host and port not in claims
            ]:
                self._close_port(port)
            for claim in claims.values():
                await self._open_port(claim)

    async def sweep(self) -> None:
        """Close ports whose claims have expired; runs until cancelled."""
        while True:
            await asyncio.sleep(SWEEP_S)
            async with self._lock:
                for port in [port for port, listener in self._listeners.items() if listener.claim.expires_at <= time.time()]:
                    self._close_port(port)

    async def close(self) -> None:
        async with self._lock:
            for port in list(self._listeners):
                self._close_port(port)
        await asyncio.gather(*self._leaving, return_exceptions=True)

    def _claim(self, host: str, row: Any) -> ListenerClaim:
        """Check one claim.

        Raises:
            _NotAllowed: It is malformed, or the port is not the host's.
        """
        try:
            port, allow = int(row["relay_port"]), tuple(map(str, row.get("allow", ())))
            ticket = self._ticket_checker.read(str(row["ticket"]))
        except (BadTicket, ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise _NotAllowed(f"{type(error).__name__} {error}") from error
        if port not in self._ports or ticket.topic != f"tunnel:{port}:{host}":
            raise _NotAllowed(f"port {port} is not its own")
        if len(allow) > MAX_NETWORKS:
            raise _NotAllowed(f"{len(allow)} networks may come in by port {port}")
        return ListenerClaim(port, host, ticket.expires_at, allow)

    async def _open_port(self, claim: ListenerClaim) -> None:
        listener = self._listeners.get(claim.port)
        if listener is not None and listener.claim.host == claim.host:
            listener.claim = claim
            return
        if listener is not None:
            if claim.expires_at <= listener.claim.expires_at:
                return  # an older claim to a port that has a new owner
            self._close_port(claim.port)
        try:
            everywhere = None if self._listen in ("", "::") else self._listen  # IPv4 and IPv6
            server = await asyncio.start_server(
                lambda reader, writer: self._admit(claim.port, reader, writer), everywhere, claim.port
            )
        except OSError as error:
            logger.warning("port %d cannot be opened: %s", claim.port, error)
            return
        self._listeners[claim.port] = TcpListener(claim, server)

    def _close_port(self, port: int) -> None:
        """Close a port and cancel its connections, without waiting for them.

        A client that does not read would otherwise delay the ports of all hosts.
        """
        listener = self._listeners.pop(port)
        listener.server.close()
        for connection in listener.connections:
            connection.cancel()
            self._leaving.add(connection)
            connection.add_done_callback(self._leaving.discard)

    def _admit(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        listener = self._listeners.get(port)
        peer = (writer.get_extra_info("peername") or ("",))[0]
        if listener is None or len(listener.connections) >= AT_ONCE or not listener.claim.admits(peer):
            writer.close()
            return
        connection = asyncio.create_task(self._serve(listener.claim, TcpEnd(reader, writer)))
        listener.connections.add(connection)
        connection.add_done_callback(listener.connections.discard)

    async def _serve(self, claim: ListenerClaim, client: TcpEnd) -> None:
        inside: WebSocketEnd | None = None
        try:
            inside = await self._hub.open(claim.host, {"tunnel": claim.port})
            await join(client, inside)
        except DialError as error:
            logger.info("port %d: %s", claim.port, error)
        finally:
            await client.close()
            if inside is not None:
                await inside.close()
