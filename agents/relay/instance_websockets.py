"""WebSockets from a browser to a program in an instance: two handshakes, and all messages passed on."""

import asyncio
from contextlib import suppress
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send
from websockets.client import ClientProtocol
from websockets.exceptions import ConnectionClosed, InvalidState
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

from agents.protocol.tickets import StreamTicket
from agents.relay.connection_registry import ConnectionRegistry
from agents.relay.instance_http import BadUpstream, request_headers
from agents.relay.stream_endpoints import Channel

MESSAGE_AT_MOST: Final = 32 * 1024 * 1024
_OWN: Final = (b"host", b"origin")
_RESERVED_CLOSE_CODES: Final = (1005, 1006, 1015)  # close codes that are never sent, only reported
GOING_AWAY: Final = 1001


class _ProgramSocket:
    """Client side of the WebSocket protocol, over a stream to the program."""

    def __init__(self, channel: Channel, protocol: ClientProtocol) -> None:
        self.channel = channel
        self.protocol = protocol
        self.early: list[Any] = []  # events that arrived together with the answer to the handshake
        self._lock = asyncio.Lock()
        self._parts: list[bytes] = []
        self._is_text = False

    async def flush(self) -> None:
        async with self._lock:
            for piece in self.protocol.data_to_send():
                if piece:
                    await self.channel.write(piece)

    async def events(self) -> list[Any] | None:
        """Return the next events, or None once no more can arrive."""
        while True:
            piece = await self.channel.read()
            if piece:
                self.protocol.receive_data(piece)
            else:
                self.protocol.receive_eof()
            found = self.protocol.events_received()
            with suppress(OSError):
                await self.flush()  # answers to pings
            if found:
                return found
            if not piece:
                return None

    def message(self, frame: Frame) -> str | bytes | None:
        """Return a whole message once its last frame has arrived, else None."""
        if frame.opcode in (Opcode.TEXT, Opcode.BINARY):
            self._parts, self._is_text = [], frame.opcode is Opcode.TEXT
        elif frame.opcode is not Opcode.CONT:
            return None
        self._parts.append(bytes(frame.data))
        if not frame.fin:
            return None
        whole, self._parts = b"".join(self._parts), []
        return whole.decode(errors="replace") if self._is_text else whole


async def forward_websocket(
    hub: ConnectionRegistry, ticket: StreamTicket, scope: Scope, receive: Receive, send: Send
) -> None:
    """Join a browser's WebSocket with a program's.

    Raises:
        DialError: The program could not be reached; the browser has not been answered yet.
    """
    channel = await hub.dial(host=ticket.host, grant=ticket.grant)
    try:
        inside = await _open_program_socket(channel, scope)
        await receive()  # the message "websocket.connect"
        await send({"type": "websocket.accept", "subprotocol": inside.protocol.subprotocol})
        tasks = [
            asyncio.ensure_future(_to_program(inside, receive)),
            asyncio.ensure_future(_to_browser(inside, send)),
        ]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    finally:
        with suppress(OSError):
            await channel.close()


async def _open_program_socket(channel: Channel, scope: Scope) -> _ProgramSocket:
    headers = Headers(scope=scope)
    path = scope["raw_path"].decode("latin-1")
    query = scope["query_string"].decode("latin-1")
    uri = parse_uri(f"ws://{headers['host']}{path}{'?' if query else ''}{query}")
    protocol = ClientProtocol(
        uri,
        origin=headers.get("origin"),  # type: ignore[arg-type] # the library has its own string type
        subprotocols=scope.get("subprotocols") or None,
        max_size=MESSAGE_AT_MOST,
    )
    request = protocol.connect()
    for name, value in request_headers(scope["headers"]):
        if name not in _OWN and not name.startswith(b"sec-websocket-"):
            request.headers[name.decode("latin-1")] = value.decode("latin-1")
    inside = _ProgramSocket(channel, protocol)
    protocol.send_request(request)
    try:
        await inside.flush()
        events = await inside.events()
    except OSError as error:
        raise BadUpstream from error
    if not events or not isinstance(events[0], Response) or protocol.handshake_exc is not None:
        raise BadUpstream("The program in the instance refused the WebSocket.") from protocol.handshake_exc
    inside.early = events[1:]
    return inside


async def _to_program(inside: _ProgramSocket, receive: Receive) -> None:
    with suppress(ConnectionClosed, InvalidState, OSError):
        while (message := await receive())["type"] == "websocket.receive":
            text = message.get("text")
            if text is None:
                inside.protocol.send_binary(message["bytes"])
            else:
                inside.protocol.send_text(text.encode())
            await inside.flush()
        code = message.get("code") or GOING_AWAY
        inside.protocol.send_close(GOING_AWAY if code in _RESERVED_CLOSE_CODES else code)
        await inside.flush()


async def _to_browser(inside: _ProgramSocket, send: Send) -> None:
    """Send first the events that arrived with the handshake's answer, then all later ones."""
    events: list[Any] | None = inside.early
    with suppress(OSError):
        while events is not None:
            for event in events:
                whole = inside.message(event) if isinstance(event, Frame) else None
                if whole is not None:
                    await send({"type": "websocket.send", ("text" if isinstance(whole, str) else "bytes"): whole})
            events = await inside.events()
    code = inside.protocol.close_code or GOING_AWAY
    with suppress(RuntimeError):
        await send({"type": "websocket.close", "code": GOING_AWAY if code in _RESERVED_CLOSE_CODES else code})
