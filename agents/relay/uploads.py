"""Uploads into instances by HTTP, of one file or of a tar that is unpacked; a broken upload can be continued.

The ticket's grant allows writing to one path. The relay neither stores nor interprets what passes: it forwards the body as
fast as the agent takes it.
"""

import asyncio
import json
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agents.relay.connection_registry import DialError
from agents.relay.downloads import NO_ANSWER, SHA256, Refused, next_message, refused, ticket_of
from agents.relay.stream_endpoints import WebSocketEnd

PIECE: Final = 256 * 1024
OFFSET_HEADER: Final = "Upload-Offset"
LARGEST: Final = 2**53
DRAINED_BYTES, DRAIN_S = 16 * 1024 * 1024, 5.0
_MOST_DIGITS: Final = 16
_RANGE: Final = re.compile(r"bytes ([0-9]{1,15})-([0-9]{1,15})/([0-9]{1,15})")
_FLAGS: Final = {"": False, "0": False, "false": False, "1": True, "true": True}
_STATUS: Final = {
    **dict.fromkeys(("bad_request", "short", "too_long", "bad_path", "name_too_long"), 400),
    **dict.fromkeys(("forbidden", "read_only"), 403),
    "missing": 404,
    **dict.fromkeys(("exists", "is_folder", "not_folder", "no_tar", "no_shell", "no_words", "taken_over"), 409),
    "wrong_offset": 409,
    "no_length": 411,
    "checksum_differs": 422,
    **dict.fromkeys(("no_room", "disk_full"), 507),
}
_NEVER_STORED: Final = {"Cache-Control": "no-store"}


@dataclass(frozen=True)
class UploadPlan:
    """What a request sends: `first` is the place of its first byte in the file of `size` bytes."""

    size: int
    first: int
    sha256: str
    asks: Mapping[str, Any]


async def upload(request: Request) -> Response:
    """Write the body to the path that the ticket names; with HEAD, tell from which byte on to continue."""
    ticket = ticket_of(request)
    if ticket is None:
        return _refusal(401, "bad_ticket", "This link has expired.")
    end: WebSocketEnd | None = None
    answers: list[Response] = []
    try:
        plan = _plan_of(request)
        end = await request.app.state.hub.open(ticket.host, {"grant": ticket.grant})

        async def work(end: WebSocketEnd) -> None:
            answers.append(await _carry_out(request, end, plan))

        await request.app.state.ticket_checker.run_until_revoked(ticket.bonds, work(end))
    except DialError as error:
        return _refusal(502, error.code, error.detail)
    except Refused as error:
        await _drain(request)
        return _refusal(_STATUS.get(error.code, 502), error.code, str(error))
    except ClientDisconnect:
        return _refusal(400, "cancelled", "The body broke off.")
    except ConnectionError as error:
        return _refusal(502, "host_away", str(error))
    finally:
        if end is not None:
            await end.close()
    return answers[0] if answers else _refusal(401, "revoked", "This link was revoked.")


ROUTES: Final = [Route("/relay/v1/upload", upload, methods=["PUT", "HEAD"])]


def _plan_of(request: Request) -> UploadPlan:
    """Read what the request says about its body.

    Raises:
        Refused: It says too little, or something impossible.
    """
    query, length = request.query_params, request.headers.get("content-length", "")
    sha256 = query.get("sha256", "").lower()
    if sha256 and not SHA256.fullmatch(sha256):
        raise Refused("bad_request", "sha256 must be 64 hexadecimal digits.")
    flags = {name: _flag(query.get(name, ""), name) for name in ("replace", "make_folders", "unpack")}
    if flags.pop("unpack"):
        return UploadPlan(LARGEST, 0, "", {"do": "unpack", "size": LARGEST, "make_folders": flags["make_folders"]})
    first, size = _place_of(request, length)
    if (first or request.method == "HEAD") and not sha256:
        raise Refused("bad_request", "Only an upload with sha256 can be continued.")
    # The key names the incomplete file: the same content continues it, and any other begins another one.
    asks = {"do": "write", "size": size, **flags, "sha256": sha256, "key": sha256 or secrets.token_hex(8)}
    return UploadPlan(size, first, sha256, asks)


def _flag(text: str, name: str) -> bool:
    if text.lower() not in _FLAGS:
        raise Refused("bad_request", f"{name} must be true or false.")
    return _FLAGS[text.lower()]


def _place_of(request: Request, length: str) -> tuple[int, int]:
    """Return the first byte and the size of the file."""
    header = request.headers.get("content-range", "")
    if request.method == "HEAD":
        wanted = request.query_params.get("size", "")
        if not (wanted.isascii() and wanted.isdigit() and len(wanted) < _MOST_DIGITS):
            raise Refused("bad_request", "size must be the file's size in bytes.")
        return 0, int(wanted)
    if not (length.isascii() and length.isdigit() and len(length) < _MOST_DIGITS):
        raise Refused("no_length", "Send a Content-Length.")
    if not header:
        return 0, int(length)
    found = _RANGE.fullmatch(header)
    first, last, size = map(int, found.groups()) if found else (0, 0, 0)
    if not found or last != size - 1 or first > size or last - first + 1 != int(length):  # an empty rest, too
        raise Refused("bad_request", "Content-Range must name the body's bytes, up to the end: bytes FIRST-LAST/SIZE.")
    return first, size


async def _carry_out(request: Request, end: WebSocketEnd, plan: UploadPlan) -> Response:
    await end.send(json.dumps(plan.asks))
    offset = _offset_of(await next_message(end), plan)
    if request.method == "HEAD":
        return Response(None, 200, {**_NEVER_STORED, OFFSET_HEADER: str(offset)})
    if plan.first > offset:
        raise Refused("wrong_offset", f"Only {offset} bytes have arrived. Continue from there.")
    sending = asyncio.create_task(_send(request, end, offset - plan.first))
    answering = asyncio.create_task(_answer(end))
    try:
        await asyncio.wait({sending, answering}, return_when=asyncio.FIRST_COMPLETED)
        if sending.done() and isinstance(sending.exception(), ClientDisconnect):
            if not plan.sha256:  # nobody can continue it
                await end.send(json.dumps({"cancel": True}))
            raise ClientDisconnect
        words = await answering  # also after the agent has closed: its last message says why
    finally:
        for task in (sending, answering):
            task.cancel()
        await asyncio.gather(sending, answering, return_exceptions=True)
    sha256 = words.get("sha256")
    digest = sha256 if isinstance(sha256, str) and SHA256.fullmatch(sha256) else None
    return JSONResponse({"size": None if plan.size == LARGEST else plan.size, "sha256": digest}, 201, _NEVER_STORED)


async def _send(request: Request, end: WebSocketEnd, skip: int) -> None:
    """Send the body, without as many bytes as the agent has already."""
    async for body in request.stream():
        rest, skip = body[skip:], max(0, skip - len(body))
        for at in range(0, len(rest), PIECE):
            await end.send(rest[at : at + PIECE])
    await end.send(json.dumps({"eof": True}))


async def _drain(request: Request) -> None:
    """Read on for a while: a client that still sends when the connection is closed would not see the answer."""
    if request.headers.get("expect", "").lower() == "100-continue":
        return
    left = DRAINED_BYTES
    with suppress(ClientDisconnect, RuntimeError, TimeoutError):
        async with asyncio.timeout(DRAIN_S):
            async for piece in request.stream():
                left -= len(piece)
                if left < 0:
                    return


async def _answer(end: WebSocketEnd) -> dict[str, Any]:
    """Return the agent's last message of the request.

    Raises:
        Refused: It refuses.
        ConnectionError: It is gone.
    """
    while "ok" not in (words := await next_message(end)):
        continue
    if words["ok"] is not True:
        raise refused(words)
    return words


def _offset_of(words: Mapping[str, Any], plan: UploadPlan) -> int:
    offset = words.get("offset")
    if "ok" in words:
        raise refused(words)
    if type(offset) is not int or not 0 <= offset <= plan.size:
        raise Refused("failed", NO_ANSWER)
    return offset


def _refusal(status: int, code: str, detail: str) -> Response:
    body = {"type": "about:blank", "title": "This cannot be uploaded", "status": status, "detail": detail, "code": code}
    return JSONResponse(body, status, _NEVER_STORED, media_type="application/problem+json")
