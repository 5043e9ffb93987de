"""HTTP from a browser to a program in an instance, unchanged except for hop-by-hop headers."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import h11
from starlette.types import Receive, Scope, Send

from agents.protocol.tickets import StreamTicket
from agents.relay.connection_registry import ConnectionRegistry, DialError
from agents.relay.stream_endpoints import Channel

VISIT_COOKIES: Final = (b"berth_visit", b"__Host-berth_visit")
HEADERS_AT_MOST: Final = 64 * 1024
IDLE_S: Final = 15.0  # programs usually keep idle connections longer; the next request finds a closed one
IDLE_AT_MOST: Final = 8
AT_ONCE: Final = 100  # requests of one visit at a time
# Hop-by-hop headers: they concern one connection, or what its two ends agreed on.
_HOP: Final = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"proxy-authorization"),
        *(b"te", b"trailer", b"transfer-encoding", b"upgrade", b"expect"),
    }
)
_DOMAIN: Final = re.compile(rb";\s*domain=[^;]*", re.IGNORECASE)

Header = tuple[bytes, bytes]


class BadUpstream(DialError):
    """The program closed the connection, or its answer was not HTTP."""

    code = "bad_answer"
    detail = "The program in the instance gave no proper answer. It may still be starting: try again in a moment."


class _Gone(Exception):
    """The browser closed the connection while it was still sending the request."""


@dataclass(eq=False)
class UpstreamConnection:
    """Connection to a program that can be kept between two requests."""

    channel: Channel
    fresh: bool = True
    watch: "asyncio.Future[bytes] | None" = None  # a read while idle: only the connection's end may arrive
    machine: h11.Connection = field(
        default_factory=lambda: h11.Connection(h11.CLIENT, max_incomplete_event_size=HEADERS_AT_MOST)
    )

    async def wake(self) -> bool:
        """Stop watching the idle connection and return whether it can be used again."""
        watch, self.watch, self.fresh = self.watch, None, False
        if watch is None or watch.done():
            return False
        watch.cancel()
        await asyncio.wait({watch})
        return watch.cancelled()

    async def send(self, event: h11.Event) -> None:
        piece = self.machine.send(event)
        if piece:
            try:
                await self.channel.write(piece)
            except OSError as error:
                raise BadUpstream from error

    async def receive(self) -> h11.Event:
        while True:
            try:
                event = self.machine.next_event()
                if event is h11.NEED_DATA:
                    self.machine.receive_data(await self.channel.read())
                    continue
            except (h11.RemoteProtocolError, OSError) as error:
                raise BadUpstream from error
            if isinstance(event, h11.Event):
                return event
            raise BadUpstream


class UpstreamPool:
    """Forwards requests and reuses connections, since a page of JupyterLab requests a hundred files."""

    def __init__(self, hub: ConnectionRegistry) -> None:
        self._hub = hub
        self._idle: defaultdict[str, list[UpstreamConnection]] = defaultdict(list)
        self._at_work: defaultdict[str, int] = defaultdict(int)

    async def forward(self, ticket: StreamTicket, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward one request and its response.

        Raises:
            DialError: Nothing could be forwarded; no response was started yet.
        """
        if self._at_work[ticket.grant] >= AT_ONCE:
            raise BadUpstream("Too many requests at once.")
        self._at_work[ticket.grant] += 1
        try:
            with suppress(_Gone):
                await self._work(ticket, scope, receive, send)
        finally:
            self._at_work[ticket.grant] -= 1
            if not self._at_work[ticket.grant]:
                del self._at_work[ticket.grant]

    async def _work(self, ticket: StreamTicket, scope: Scope, receive: Receive, send: Send) -> None:
        upstream = await self._acquire(ticket, again=scope["method"] in ("GET", "HEAD"))
        try:
            try:
                response = await _send_request(upstream, scope, receive)
            except BadUpstream:
                if upstream.fresh or scope["method"] not in ("GET", "HEAD"):
                    raise
                await upstream.channel.close()  # the program closed it while it was idle
                upstream = UpstreamConnection(await self._hub.dial(host=ticket.host, grant=ticket.grant))
                response = await _send_request(upstream, scope, receive)
            whole = await _forward_response(upstream, response, receive, send)
        except BaseException:
            await _close(upstream)
            raise
        await self._release(ticket, upstream, whole)

    async def _acquire(self, ticket: StreamTicket, *, again: bool) -> UpstreamConnection:
        """Return an idle connection if the request may be repeated (`again`), else a new one."""
        idle = self._idle.get(ticket.grant, [])
        while again and idle:
            upstream = idle.pop()
            if await upstream.wake():
                return upstream
            await _close(upstream)
        return UpstreamConnection(await self._hub.dial(host=ticket.host, grant=ticket.grant))

    async def _release(self, ticket: StreamTicket, upstream: UpstreamConnection, whole: bool) -> None:
        machine = upstream.machine
        reusable = whole and machine.our_state is h11.DONE and machine.their_state is h11.DONE
        if not reusable or len(self._idle[ticket.grant]) >= IDLE_AT_MOST:
            await _close(upstream)
            return
        machine.start_next_cycle()
        self._idle[ticket.grant].append(upstream)
        upstream.watch = asyncio.ensure_future(upstream.channel.read())
        upstream.watch.add_done_callback(lambda _: self._expire(ticket.grant, upstream))
        asyncio.get_running_loop().call_later(IDLE_S, self._expire, ticket.grant, upstream)

    def _expire(self, grant: str, upstream: UpstreamConnection) -> None:
        """Close a connection that idled too long or was closed by the program, unless it is in use again."""
        idle = self._idle.get(grant, [])
        if upstream not in idle:
            return
        idle.remove(upstream)
        if not idle:
            del self._idle[grant]
        _CLOSING.add(task := asyncio.ensure_future(_close(upstream)))
        task.add_done_callback(_CLOSING.discard)


_CLOSING: set["asyncio.Future[None]"] = set()  # keeps the tasks alive, since the event loop refers to them only weakly


async def _close(upstream: UpstreamConnection) -> None:
    if upstream.watch is not None:
        upstream.watch.cancel()
    with suppress(OSError):
        await upstream.channel.close()


async def _send_request(upstream: UpstreamConnection, scope: Scope, receive: Receive) -> h11.Response:
    """Send the request, with its body as it arrives, and return the head of the response."""
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    headers = request_headers(scope["headers"])
    names = {name for name, _ in scope["headers"]}
    has_body = b"content-length" in names or b"transfer-encoding" in names
    if b"content-length" not in names and has_body:
        headers.append((b"transfer-encoding", b"chunked"))
    try:
        await upstream.send(h11.Request(method=scope["method"], target=target, headers=headers))
        with suppress(BadUpstream):  # the program may answer and close before it has read the whole body
            while has_body:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _Gone
                if message.get("body"):
                    await upstream.send(h11.Data(data=message["body"]))
                has_body = message.get("more_body", False)
            await upstream.send(h11.EndOfMessage())
    except h11.LocalProtocolError as error:
        raise BadUpstream("This request can't be forwarded.") from error
    while not isinstance(event := await upstream.receive(), h11.Response):
        if not isinstance(event, h11.InformationalResponse):
            raise BadUpstream
    return event


async def _forward_response(upstream: UpstreamConnection, response: h11.Response, receive: Receive, send: Send) -> bool:
    """Send the response piece by piece as it arrives; return whether all of it was sent.

    It ends when the browser closes the connection.
    """
    start = {"type": "http.response.start", "status": response.status_code, "headers": response_headers(response.headers)}
    await send(start)
    gone = asyncio.ensure_future(_until_gone(receive))
    try:
        while True:
            receiving = asyncio.ensure_future(upstream.receive())
            await asyncio.wait({receiving, gone}, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                receiving.cancel()
                return False
            event = receiving.result()
            if isinstance(event, h11.EndOfMessage):
                await send({"type": "http.response.body", "body": b""})
                return True
            if isinstance(event, h11.Data):
                await send({"type": "http.response.body", "body": bytes(event.data), "more_body": True})
    finally:
        gone.cancel()


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def request_headers(headers: Iterable[Header]) -> list[Header]:
    """Return the headers without hop-by-hop ones and without the visit's cookie."""
    passed = []
    for name, value in headers:
        if name == b"cookie":
            value = b"; ".join(one for one in value.split(b"; ") if one.partition(b"=")[0].strip() not in VISIT_COOKIES)  # noqa: PLW2901
        if name not in _HOP and (name != b"cookie" or value):
            passed.append((name, value))
    return passed


def response_headers(headers: Iterable[Header]) -> list[Header]:
    """Return the headers without hop-by-hop ones, with all cookies limited to this host name."""
    return [
        (name, _DOMAIN.sub(b"", value) if name == b"set-cookie" else value) for name, value in headers if name not in _HOP
    ]
