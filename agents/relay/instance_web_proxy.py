"""Web programs of instances, each under its own host name, entered by a signed link.

`<instance>-<port>.<RELAY_WEB_HOST>` names one port of one instance. No page of the market is served there, so no
cookie of the market is sent to it and none can be set for it; and the pages of two instances have different
origins. A link that the web signed (`/relay/v1/web/<ticket>/<page>`) is valid for minutes: it sets a cookie for
this host name alone and redirects to the page.
"""

import re
import time
from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from agents.protocol.tickets import BadTicket, StreamTicket, sign_ticket
from agents.relay.connection_registry import HOST_SAYS, ConnectionRegistry, DialError
from agents.relay.instance_http import UpstreamPool
from agents.relay.instance_websockets import forward_websocket
from agents.relay.ticket_checks import TicketChecker

OPEN_PATH: Final = "/relay/v1/web/"
COOKIE: Final = "berth_visit"
_LABEL: Final = re.compile(r"[0-9a-f]{32}-[0-9]{1,5}")
_SAFE: Final = ("GET", "HEAD", "OPTIONS")
_DOCUMENTS: Final = ("", "document")
_STYLE: Final = "p{overflow-wrap:anywhere}"
_PAGE: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>{style}</style><h1>{title}</h1><p><bdi>{text}</bdi></p><p lang="zh">{chinese}</p></html>"""
_STYLE_HASH: Final = b64encode(sha256(_STYLE.encode()).digest()).decode()
_BARE: Final = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_QUIET: Final = {"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"}
_AGAIN: Final = (
    "Open it again from the instance's page in the console.",
    "请在控制台的实例页面重新打开。",
)
_QUOTED: Final = "上面引号内是主机的原话。"


class InstanceWebProxy:
    """ASGI application for all host names below the web host."""

    def __init__(self, hub: ConnectionRegistry, ticket_checker: TicketChecker, *, secret: str) -> None:
        self._hub = hub
        self._ticket_checker = ticket_checker
        self._secret = secret
        self._upstreams = UpstreamPool(hub)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, label = Headers(scope=scope), scope["path_params"]["site"]
        if not _LABEL.fullmatch(label):
            await _Refusal(404, "There is nothing here")(scope, receive, send)
        elif scope["type"] == "http" and scope["path"].startswith(OPEN_PATH):
            await self._open(label, scope, headers)(scope, receive, send)
        elif _is_foreign(scope, headers):
            await _Refusal(403, "This was asked by another site")(scope, receive, send)
        elif (ticket := self._read_ticket(label, headers)) is None:
            await _Refusal(401, "This visit is over")(scope, receive, send)
        else:
            await self._forward(ticket, scope, receive, send)

    async def _forward(self, ticket: StreamTicket, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["type"] == "websocket":
                work = forward_websocket(self._hub, ticket, scope, receive, send)
            else:
                work = self._upstreams.forward(ticket, scope, receive, send)
            await self._ticket_checker.run_until_revoked(ticket.bonds, work)
        except DialError as error:
            await _Refusal(502, "The instance does not answer here", error.detail)(scope, receive, send)

    def _open(self, label: str, scope: Scope, headers: Headers) -> Response:
        """Answer a signed link: set the cookie and redirect to an address without the ticket."""
        outer_ticket, _, page = scope["path"].removeprefix(OPEN_PATH).partition("/")
        now = time.time()
        try:
            kind, named, inner = self._ticket_checker.read(outer_ticket).topic.split(":", 2)
            ticket = self._ticket_checker.read_stream(inner)
        except (BadTicket, ValueError):
            return plain_page(401, "This link has expired")
        if (kind, named) != ("open", label) or scope["method"] not in _SAFE:
            return plain_page(401, "This link has expired")
        cookie = sign_ticket(self._secret, topic=f"visit:{label}:{inner}", expires_at=ticket.expires_at)
        query = scope["query_string"].decode("latin-1")
        response = RedirectResponse(f"/{page.lstrip('/')}{'?' if query else ''}{query}", 303)
        secure = _is_secure(headers)
        response.set_cookie(
            _cookie_name(headers),
            cookie,
            max_age=int(ticket.expires_at - now),
            httponly=True,
            secure=secure,
            samesite="lax",
        )
        response.headers.update({"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"})
        return response

    def _read_ticket(self, label: str, headers: Headers) -> StreamTicket | None:
        text = _cookie(headers, _cookie_name(headers))
        try:
            kind, named, inner = self._ticket_checker.read(text).topic.split(":", 2)
            ticket = self._ticket_checker.read_stream(inner)
        except (BadTicket, ValueError):
            return None
        return ticket if (kind, named) == ("visit", label) else None


class _Refusal:
    """ASGI response for either an HTTP request or a WebSocket."""

    def __init__(self, status: int, title: str, text: str = "") -> None:
        self._status, self._title, self._text = status, title, text

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()  # the message "websocket.connect"
            await send({"type": "websocket.close", "code": 4000 + self._status, "reason": self._title})
        else:
            await plain_page(self._status, self._title, self._text)(scope, receive, send)


def plain_page(status: int, title: str, text: str = "") -> Response:
    """Return a page for people whose link does not work.

    The text may quote an agent, and the page belongs to the market's own origin; so it is escaped and can load
    nothing.
    """
    english, chinese = _AGAIN
    if text.startswith(HOST_SAYS):
        chinese = f"{_QUOTED}{chinese}"
    body = _PAGE.format(style=_STYLE, title=escape(title), text=escape(text or english), chinese=chinese)
    return HTMLResponse(body, status, {"Cache-Control": "no-store", "Content-Security-Policy": _BARE, **_QUIET})


def _is_secure(headers: Headers) -> bool:
    """Return whether the proxy in front received the request over TLS.

    A client that claims so without such a proxy only gets a cookie that is sent back over TLS alone.
    """
    return headers.get("x-forwarded-proto", "") == "https"


def _cookie_name(headers: Headers) -> str:
    """Return the cookie's name; under TLS with the prefix that keeps sibling host names from setting it."""
    return f"__Host-{COOKIE}" if _is_secure(headers) else COOKIE


def _cookie(headers: Headers, name: str) -> str:
    """Return the value of one cookie, parsed here: the library's parser stops at a malformed one.

    A program in the instance may set any cookie.
    """
    pairs = (one.strip().partition("=") for text in headers.getlist("cookie") for one in text.split(";"))
    return next((value for own, _, value in pairs if own == name), "")


def _is_foreign(scope: Scope, headers: Headers) -> bool:
    """Return whether another site's page sends the request; such a page may only navigate here by a link."""
    origin, site = headers.get("origin", ""), headers.get("sec-fetch-site", "")
    own = origin.partition("://")[2] == headers.get("host", "")
    if origin and not own and (scope["type"] == "websocket" or scope["method"] not in _SAFE):
        return True
    if site not in ("cross-site", "same-site"):
        return False
    return headers.get("sec-fetch-mode") != "navigate" or headers.get("sec-fetch-dest", "") not in _DOCUMENTS
