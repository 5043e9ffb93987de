"""RSGI application that granian calls for each request."""

import asyncio
import logging
import resource
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from django.conf import settings
from granian.rsgi import HTTPProtocol, ProtocolClosed, Scope  # type: ignore[attr-defined] # public, though not re-exported by name

from agents.protocol.signing import SIGNATURE_HEADER
from config.front import refusals
from config.front.bodies import BodyReader, BodyRefused
from config.front.policy import POOL_LIMITS, PoolLimits, Traffic, body_limit
from config.front.pools import ThreadPool
from config.front.refusals import HEALTHY, Reply
from config.front.wsgi import Application, Stored, call, environ_of
from config.middleware.api_fast_path import AGENT_PREFIX, API_PREFIX, VAST_PREFIX

logger = logging.getLogger(__name__)
_SIGNATURE: Final = SIGNATURE_HEADER.lower()
_SEARCHES: Final = f"{API_PREFIX}offers"
# Searches whose conditions are a body.
_BODY_SEARCHES: Final = tuple(f"{VAST_PREFIX}{name}" for name in ("bundles", "search/asks", "volumes/search"))
_WITHOUT_BODY: Final = (204, 304)
# Seconds that a client has to read an answer that is kept in a file.
_SEND_WITHIN_S: Final = 600


class WebFrontEnd:
    """Front end of a web process.

    `application` is called only by threads; the event loop does nothing that could block.
    """

    def __init__(self, application: Application, shares: Mapping[Traffic, PoolLimits] = POOL_LIMITS) -> None:
        self._application = application
        self._shares = shares
        self._pools: dict[Traffic, ThreadPool] = {}
        self._bodies = BodyReader()

    def __rsgi_init__(self, loop: asyncio.AbstractEventLoop) -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # each connection is an open file
        self._pools = {traffic: ThreadPool(traffic, share) for traffic, share in self._shares.items()}
        for pool in self._pools.values():
            pool.start()

    def __rsgi_del__(self, loop: asyncio.AbstractEventLoop) -> None:
        for pool in self._pools.values():
            pool.stop()

    async def __rsgi__(self, scope: Scope, proto: HTTPProtocol) -> None:
        with suppress(ProtocolClosed):  # the client has gone; nobody is there to be answered
            await self._answer(scope, proto)

    async def _answer(self, scope: Scope, proto: HTTPProtocol) -> None:
        if scope.path == "/healthz":
            _send(proto, HEALTHY)
            return
        pool = self._pools[traffic_of(scope)]
        try:
            if not pool.has_room():
                raise BodyRefused(refusals.BUSY)
            body = await self._bodies.read(scope, proto, body_limit(scope.path))
            if body and not pool.has_room():
                raise BodyRefused(refusals.BUSY)
        except BodyRefused as error:
            _send(proto, _refuse(scope, error.refusal))
            return
        stored: list[Stored] = []
        if not await pool.ask(partial(self._work, scope, proto, body, stored)):
            _send(proto, _refuse(scope, refusals.BUSY))
        for each in stored:
            await _send_stored(proto, each)

    def _work(self, scope: Scope, proto: HTTPProtocol, body: bytes, stored: list[Stored]) -> None:
        """Call Django in a thread, which also sends the answer: the loop would only pass it on."""
        found = call(self._application, environ_of(scope, body), partial(_send, proto))
        if found is not None:
            stored.append(found)


def traffic_of(scope: Scope) -> Traffic:
    """Return the kind of a request by its path and headers alone; who really sent it is checked later."""
    path, headers = scope.path, scope.headers
    if path.startswith(AGENT_PREFIX) and _SIGNATURE in headers:
        return Traffic.AGENTS
    if path in ("/readyz", "/metrics"):
        return Traffic.OPERATIONS
    if path.startswith(_BODY_SEARCHES):
        return Traffic.PUBLIC
    if scope.method not in ("GET", "HEAD"):
        return Traffic.GENERAL
    if path.startswith((_SEARCHES, settings.STATIC_URL)):
        return Traffic.PUBLIC
    known = "authorization" in headers or f"{settings.SESSION_COOKIE_NAME}=" in headers.get("cookie", "")
    return Traffic.GENERAL if known else Traffic.PUBLIC


def _refuse(scope: Scope, refusal: refusals.Refusal) -> Reply:
    accept, cookies, languages = (scope.headers.get(name, "") for name in ("accept", "cookie", "accept-language"))
    return refusals.reply_of(refusal, path=scope.path, accept=accept, cookies=cookies, languages=languages)


def _send(proto: HTTPProtocol, reply: Reply) -> None:
    if reply.status in _WITHOUT_BODY:
        proto.response_empty(reply.status, reply.headers)
    else:
        proto.response_bytes(reply.status, reply.headers, reply.body)


async def _send_stored(proto: HTTPProtocol, stored: Stored) -> None:
    """Send an answer from its file as fast as the client reads it, without a thread."""
    with stored.file:
        transport = proto.response_stream(stored.status, stored.headers)
        try:
            async with asyncio.timeout(_SEND_WITHIN_S):
                for piece in stored.pieces():
                    await transport.send_bytes(piece)
        except TimeoutError:
            logger.warning("An answer of %s bytes was not read within %s s.", stored.file.tell(), _SEND_WITHIN_S)
