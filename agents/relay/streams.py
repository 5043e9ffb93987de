"""WebSockets of the relay: agents' links and dials, clients' streams, and pairs of copying agents."""

import asyncio
import time
from contextlib import suppress
from functools import partial
from typing import Final

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from agents.protocol.codec import parse_json_object
from agents.protocol.tickets import BadTicket, StreamTicket, Ticket
from agents.relay.config import RelayConfig
from agents.relay.connection_registry import AgentLink, ConnectionRegistry, DialError, NotLinked, PeerRendezvous
from agents.relay.stream_endpoints import WebSocketEnd, join
from agents.relay.tcp_listeners import TcpListeners
from agents.relay.ticket_checks import TicketChecker

# Close codes: 4000 plus the HTTP status that a request would have got.
BAD_TICKET, WRONG_TOPIC, NOT_WANTED, TOO_LATE = 4401, 4403, 4404, 4408
REFUSED, AWAY = 4409, 4503
LINK_QUIET_S: Final = 60.0  # an agent sends a message every 15 s
PAIR_WAIT_S: Final = 300.0
JOINED: Final = '{"joined":true}'


async def hold_link(socket: WebSocket) -> None:
    """Serve an agent's standing connection, by which it names its tunnels and renews its ticket.

    It ends when the ticket expires, and at once when the agent's key is revoked.
    """
    hub, tcp_listeners = _hub(socket), _tcp_listeners(socket)
    ticket = await _admitted(socket, "link:")
    if ticket is None:
        return
    await socket.accept()
    end = WebSocketEnd(socket)
    link = AgentLink(ticket.topic.removeprefix("link:"), end, ticket.expires_at)
    await hub.attach(link)
    try:
        while (text := await _next_message(end, link)) is not None:
            words = parse_json_object(text)
            if "ticket" in words:
                _renew(socket, link, str(words["ticket"]))
            if isinstance(words.get("tunnels"), list):
                await tcp_listeners.settle(link.host, words["tunnels"])
            if "refused" in words:
                hub.refuse(link.host, str(words["refused"]), str(words.get("code", "")), str(words.get("detail", "")))
    finally:
        hub.detach(link)
        await end.close()


async def accept_dial(socket: WebSocket) -> None:
    """Accept the agent's end of a requested stream; the task that requested it carries the data."""
    await socket.accept()
    end = WebSocketEnd(socket)
    if _hub(socket).arrive(socket.path_params["stream"], end):
        await end.over.wait()
    await end.close(NOT_WANTED, "nobody waits for this stream")


async def open_stream(socket: WebSocket) -> None:
    """Serve a client's end of a stream; its ticket names the host and holds the signed grant."""
    await socket.accept()
    client = WebSocketEnd(socket)
    ticket = _stream_ticket(socket)
    if ticket is None:
        await client.close(BAD_TICKET, "bad_ticket")
        return
    what = {"grant": ticket.grant, "size": socket.query_params.get("size", "")}
    inside: WebSocketEnd | None = None
    try:
        inside = await _hub(socket).open(ticket.host, what)
        goodbye = partial(client.close, BAD_TICKET, "revoked")
        await _ticket_checker(socket).run_until_revoked(ticket.bonds, join(client, inside), on_cut=goodbye)
    except DialError as error:
        await client.close(AWAY if isinstance(error, NotLinked) else REFUSED, error.code)
    finally:
        await client.close()
        if inside is not None:
            await inside.close()


async def connect_peers(socket: WebSocket) -> None:
    """Serve one of two agents that copy to each other.

    The second to come carries the data of both; the first only waits for the end.
    """
    pair = socket.path_params["pair"]
    ticket = await _admitted(socket, f"pair:{pair}:")
    if ticket is None:
        return
    side, peer_rendezvous = ticket.topic.rpartition(":")[2], _peer_rendezvous(socket)
    await socket.accept()
    end = WebSocketEnd(socket)
    _hub(socket).track(ticket.topic.split(":")[2], end)
    try:
        partner = await peer_rendezvous.meet(pair, side, end, PAIR_WAIT_S)
        if partner is None:
            await end.over.wait()
            return
        with suppress(ConnectionError):
            await partner.send(JOINED)
            await end.send(JOINED)
            await join(end, partner)
        await partner.close()
    except TimeoutError:
        await end.close(TOO_LATE, "the other side did not come")
    except ConnectionError:
        return
    finally:
        peer_rendezvous.release(pair, side, end)
        await end.close()


ROUTES: Final = [
    WebSocketRoute("/relay/v1/link", hold_link),
    WebSocketRoute("/relay/v1/link/{stream}", accept_dial),
    WebSocketRoute("/relay/v1/streams", open_stream),
    WebSocketRoute("/relay/v1/pairs/{pair}", connect_peers),
]


async def _next_message(end: WebSocketEnd, link: AgentLink) -> str | None:
    """Return the agent's next message; None if it is gone, silent for too long, or its ticket has expired."""
    patience = min(LINK_QUIET_S, link.expires_at - time.time())
    try:
        frame = await asyncio.wait_for(end.receive(), max(0.0, patience))
    except TimeoutError:
        return None
    return frame if isinstance(frame, str) else None


def _renew(socket: WebSocket, link: AgentLink, text: str) -> None:
    with suppress(BadTicket):
        ticket = _ticket_checker(socket).read(text)
        if ticket.topic == f"link:{link.host}" and not socket.app.state.switchboard.ended.voids(ticket):
            link.expires_at = max(link.expires_at, ticket.expires_at)


async def _admitted(socket: WebSocket, prefix: str) -> Ticket | None:
    """Return an agent's ticket if it fits this kind of topic; else close the socket with the reason."""
    code, reason = BAD_TICKET, "bad_ticket"
    with suppress(BadTicket):
        ticket = _ticket_checker(socket).read(socket.query_params.get("ticket", ""))
        if socket.app.state.switchboard.ended.voids(ticket):
            reason = "revoked"
        elif ticket.topic.startswith(prefix):
            return ticket
        else:
            code, reason = WRONG_TOPIC, "wrong_topic"
    await socket.accept()
    await socket.close(code, reason)
    return None


def _stream_ticket(socket: WebSocket) -> StreamTicket | None:
    """Return a client's ticket; browsers must come from the market's own pages.

    So a page of another site cannot use a ticket that it got hold of.
    """
    config = _config(socket)
    origin = socket.headers.get("origin")
    if origin is not None and config.origins and origin not in config.origins:
        return None
    with suppress(BadTicket):
        return _ticket_checker(socket).read_stream(socket.query_params.get("ticket", ""))
    return None


def _config(socket: WebSocket) -> RelayConfig:
    config: RelayConfig = socket.app.state.config
    return config


def _ticket_checker(socket: WebSocket) -> TicketChecker:
    ticket_checker: TicketChecker = socket.app.state.ticket_checker
    return ticket_checker


def _hub(socket: WebSocket) -> ConnectionRegistry:
    hub: ConnectionRegistry = socket.app.state.hub
    return hub


def _tcp_listeners(socket: WebSocket) -> TcpListeners:
    tcp_listeners: TcpListeners = socket.app.state.tcp_listeners
    return tcp_listeners


def _peer_rendezvous(socket: WebSocket) -> PeerRendezvous:
    peer_rendezvous: PeerRendezvous = socket.app.state.peer_rendezvous
    return peer_rendezvous
