"""Downloads of instances' files by HTTP; a client may resume with a range request, and ask for the checksum.

The ticket's grant allows reading one path. The relay neither stores nor interprets the file: it is sent as an
attachment, whatever it is.
"""

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from agents.protocol.codec import parse_json_object
from agents.protocol.tickets import BadTicket, StreamTicket
from agents.relay.connection_registry import DialError, checked_code, quoted_detail
from agents.relay.instance_web_proxy import plain_page
from agents.relay.stream_endpoints import WebSocketEnd
from agents.relay.ticket_checks import TicketChecker

_RANGE: Final = re.compile(r"bytes=(\d{1,15})-(\d{0,15})")
SHA256: Final = re.compile(r"[0-9a-f]{64}")
_STATUS: Final = {
    "missing": 404,
    **dict.fromkeys(("not_file", "not_kept", "no_shell", "no_tar", "no_words"), 409),
    "forbidden": 403,
    "past_end": 416,
}
_PLAIN_NAME: Final = re.compile(r"[^0-9A-Za-z._ -]")
_LAST_LETTERS: Final = 200
_LONGEST_NAME: Final = 1_000
_NO_NAME: Final = re.compile("[\x00\ud800-\udc7f\udd00-\udfff]")  # the remaining surrogates stand for non-UTF-8 bytes
_LARGEST: Final = 2**53
NO_ANSWER: Final = "The host gave no proper answer."
# A renter's file is no page of the market: a browser must save it and must not guess its type.
_SAFE: Final = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Accel-Buffering": "no",
}


class Refused(Exception):
    """The agent does not send the file; `code` and the text are the agent's own."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


@dataclass(frozen=True)
class FileHead:
    """Name, size and time of change of the file or folder that follows."""

    name: str
    size: int | None  # None for a folder, which is packed while it is sent
    changed_at: int

    @property
    def tag(self) -> str:
        return f'"{self.size:x}-{self.changed_at:x}"' if self.size is not None else ""

    def headers(self, first: int, last: int | None) -> dict[str, str]:
        """Return the response headers; `last` is the last byte of a range, None for the whole."""
        name = self.name if self.size is not None else f"{self.name or 'files'}.tar"
        plain = _PLAIN_NAME.sub("_", name)[-_LAST_LETTERS:] or "file"
        encoded = quote(name.encode("utf-8", "surrogateescape"), safe="")
        found = {**_SAFE, "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}"}
        if self.size is None:
            return found | {"Content-Type": "application/x-tar"}
        end = self.size - 1 if last is None else last
        found |= {"Content-Type": "application/octet-stream", "Accept-Ranges": "bytes", "ETag": self.tag}
        found["Content-Length"] = str(end - first + 1)
        return found if last is None else found | {"Content-Range": f"bytes {first}-{end}/{self.size}"}


async def download(request: Request) -> Response:
    """Send the file or folder that the ticket names, or the requested range of it."""
    ticket = ticket_of(request)
    if ticket is None:
        return _refusal(request, 401, "bad_ticket", "This link has expired.")
    end: WebSocketEnd | None = None
    try:
        end = await request.app.state.hub.open(ticket.host, {"grant": ticket.grant})
        if request.query_params.get("sum") == "1" and request.method == "GET":
            return await _checksum(request, end, ticket)
        return await _start_response(request, end, ticket)
    except DialError as error:
        return _refusal(request, 502, error.code, error.detail)
    except (Refused, ConnectionError) as error:
        if end is not None:
            await end.close()
        code = error.code if isinstance(error, Refused) else "host_away"
        return _refusal(request, _STATUS.get(code, 502), code, str(error))


ROUTES: Final = [Route("/relay/v1/download", download)]


class StreamBody(Response):
    """Response whose body is a stream; a stream that breaks off breaks the body off too."""

    def __init__(
        self, end: WebSocketEnd, ticket_checker: TicketChecker, bonds: Sequence[str], status: int, headers: dict[str, str]
    ) -> None:
        super().__init__(None, status, headers)
        self._end, self._ticket_checker, self._bonds = end, ticket_checker, bonds
        self.raw_headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        passing = self._ticket_checker.run_until_revoked(self._bonds, self._pass_on(send))
        work = [asyncio.ensure_future(passing), asyncio.ensure_future(_until_gone(receive))]
        try:
            await asyncio.wait(work, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in work:
                one.cancel()
            await asyncio.gather(*work, return_exceptions=True)
            await self._end.close()

    async def _pass_on(self, send: Send) -> None:
        while (frame := await self._end.receive()) is not None:
            if isinstance(frame, bytes):
                await send({"type": "http.response.body", "body": frame, "more_body": True})
            elif "ok" in (words := parse_json_object(frame)):
                if words["ok"] is True:
                    await send({"type": "http.response.body", "body": b""})
                return


async def _start_response(request: Request, end: WebSocketEnd, ticket: StreamTicket) -> Response:
    carried = partial(StreamBody, end, request.app.state.ticket_checker, ticket.bonds)
    wanted = _RANGE.fullmatch(request.headers.get("range", ""))
    if request.method == "HEAD" or wanted:
        head = await _request_file(end, 0, 0)
        if request.method == "HEAD":
            await end.close()  # not read to the end, which of a folder is the whole archive
            return Response(None, 200, head.headers(0, None))
        await _to_the_end(end)
        same = request.headers.get("if-range", head.tag) == head.tag
        if wanted and same and head.size is not None:
            return await _part(end, head, int(wanted.group(1)), wanted.group(2), carried=carried)
    head = await _request_file(end, 0, None)
    return carried(200, head.headers(0, None))


async def _checksum(request: Request, end: WebSocketEnd, ticket: StreamTicket) -> Response:
    """Answer with the file's SHA-256, which its host computes now; nobody waits for it once the client is gone."""
    answers: list[dict[str, Any]] = []

    async def ask() -> None:
        await end.send(json.dumps({"do": "sum"}))
        answers.append(await next_message(end))

    checker: TicketChecker = request.app.state.ticket_checker
    asking = asyncio.ensure_future(checker.run_until_revoked(ticket.bonds, ask()))
    leaving = asyncio.ensure_future(_until_gone(request.receive))
    try:
        await asyncio.wait({asking, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (asking, leaving):
            task.cancel()
        ended, _ = await asyncio.gather(asking, leaving, return_exceptions=True)
    if isinstance(ended, Exception):
        raise ended
    await end.close()
    if not answers:
        return _refusal(request, 401, "revoked", "This link was revoked.")
    return _sum_of(answers[0])


def _sum_of(words: Mapping[str, Any]) -> Response:
    """Return a checksum from an agent, which may be hostile.

    Raises:
        Refused: It refuses, or the checksum is malformed.
    """
    sha256 = words.get("sha256")
    if words.get("ok") is not True:
        raise refused(words)
    if not isinstance(sha256, str) or not SHA256.fullmatch(sha256):
        raise Refused("failed", NO_ANSWER)
    return Response(json.dumps({"sha256": sha256}), 200, dict(_SAFE), media_type="application/json")


async def _part(end: WebSocketEnd, head: FileHead, first: int, last: str, *, carried: Callable[..., Response]) -> Response:
    size = head.size or 0
    if first >= size:
        await end.close()
        return Response(None, 416, {**_SAFE, "Content-Range": f"bytes */{size}"})
    final = min(int(last), size - 1) if last else size - 1
    found = await _request_file(end, first, final - first + 1)
    if found.tag != head.tag:
        raise Refused("changed", "The file just changed. Try again.")
    return carried(206, head.headers(first, final))


async def _request_file(end: WebSocketEnd, offset: int, most: int | None) -> FileHead:
    """Ask the agent to send the file from `offset` on, and return its head.

    Raises:
        Refused: The agent refuses, or its answer is malformed.
        ConnectionError: The agent is gone.
    """
    await end.send(json.dumps({"do": "read", "offset": offset, **({} if most is None else {"most": most})}))
    words = await next_message(end)
    if "kind" not in words:
        raise refused(words)
    return _head_of(words)


def _head_of(words: Mapping[str, Any]) -> FileHead:
    """Parse a head from an agent, which may be hostile.

    Raises:
        Refused: The head is malformed.
    """
    name, size, changed_at = words.get("name", ""), words.get("size", 0), words.get("changed_at", 0)
    named = isinstance(name, str) and len(name) <= _LONGEST_NAME and not _NO_NAME.search(name)
    sized = type(size) is int and 0 <= size <= _LARGEST
    if not (named and sized and type(changed_at) is int and abs(changed_at) <= _LARGEST):
        raise Refused("failed", NO_ANSWER)
    return FileHead(name, size if words["kind"] == "file" else None, changed_at)


async def _to_the_end(end: WebSocketEnd) -> None:
    while "ok" not in await next_message(end):
        continue


def refused(words: Mapping[str, Any]) -> Refused:
    """Return the agent's refusal, with its code and detail as far as they can be shown."""
    return Refused(checked_code(words.get("code", "failed")), quoted_detail(words.get("detail", "")) or NO_ANSWER)


async def next_message(end: WebSocketEnd) -> dict[str, Any]:
    """Return the agent's next JSON message; raise ConnectionError when it is gone."""
    while True:
        frame = await end.receive()
        if frame is None:
            raise ConnectionError("The host isn't connected right now.")
        if isinstance(frame, str):
            return parse_json_object(frame)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


def ticket_of(request: Request) -> StreamTicket | None:
    """Return the ticket of a request, None for a bad one."""
    try:
        ticket_checker: TicketChecker = request.app.state.ticket_checker
        return ticket_checker.read_stream(request.query_params.get("ticket", ""))
    except BadTicket:
        return None


def _refusal(request: Request, status: int, code: str, detail: str) -> Response:
    """Return a page for browsers, a problem document for programs."""
    if "text/html" in request.headers.get("accept", ""):
        return plain_page(status, "This cannot be downloaded", detail)
    body = {"type": "about:blank", "title": "This cannot be downloaded", "status": status, "detail": detail, "code": code}
    return Response(json.dumps(body), status, dict(_SAFE), media_type="application/problem+json")
