"""HTTP routes of the relay: waiting agents, page events and its own health."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Host, Route

from agents.protocol.codec import parse_json_object
from agents.protocol.tickets import BadTicket, Ticket
from agents.relay.change_notifier import Change, ChangeNotifier, NewsFilter
from agents.relay.config import RelayConfig
from agents.relay.connection_registry import ConnectionRegistry, PeerRendezvous
from agents.relay.downloads import ROUTES as DOWNLOAD_ROUTES
from agents.relay.instance_web_proxy import InstanceWebProxy
from agents.relay.port_check import ROUTES as REACH_ROUTES
from agents.relay.port_check import PortChecker
from agents.relay.refusal import RelayError
from agents.relay.streams import ROUTES as STREAM_ROUTES
from agents.relay.tcp_listeners import TcpListeners
from agents.relay.ticket_checks import TicketChecker
from agents.relay.uploads import ROUTES as UPLOAD_ROUTES

MAX_DIGITS = 19
NEWS = "news:"  # permits waiting for `user:<hex>`, with the answer naming what has changed
NEVER_STORED = {"Cache-Control": "no-store"}
NEVER_SEEN = -1  # differs from every counter, so that the first comparison ends the wait


def build_app(config: RelayConfig) -> Starlette:
    ticket_checker, hub = TicketChecker(config.secret), ConnectionRegistry()
    switchboard = ChangeNotifier(config.redis_url, ticket_checker)
    tcp_listeners = TcpListeners(hub, ticket_checker, listen=config.tcp_listen, ports=config.tcp_ports)

    cuts: set[asyncio.Task[None]] = set()

    def cut(host: str) -> None:
        task = asyncio.create_task(_close_connections(hub, tcp_listeners, host))
        cuts.add(task)
        task.add_done_callback(cuts.discard)

    switchboard.cut = cut

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await switchboard.start()
        sweep = asyncio.create_task(tcp_listeners.sweep())
        yield
        sweep.cancel()
        await tcp_listeners.close()
        await switchboard.stop()

    cross_origin = Middleware(CORSMiddleware, allow_origins=config.origins, allow_methods=["GET"])
    app = Starlette(
        routes=[
            *(
                [Host(f"{{site}}.{config.web_host}", InstanceWebProxy(hub, ticket_checker, secret=config.secret))]
                if config.web_host
                else []
            ),
            Route("/agent/v1/wait", wait_for_change),
            Route("/relay/v1/wait", wait_for_user_change),
            Route("/relay/v1/events", stream_changes, middleware=[cross_origin]),
            Route("/healthz", show_health),
            *REACH_ROUTES,
            *STREAM_ROUTES,
            *DOWNLOAD_ROUTES,
            *UPLOAD_ROUTES,
        ],
        lifespan=lifespan,
        exception_handlers={HTTPException: render_problem},
    )
    app.state.config, app.state.switchboard, app.state.ticket_checker = config, switchboard, ticket_checker
    app.state.hub, app.state.tcp_listeners, app.state.peer_rendezvous = hub, tcp_listeners, PeerRendezvous()
    app.state.dialler = PortChecker(private=config.reach_private)
    return app


async def _close_connections(hub: ConnectionRegistry, tcp_listeners: TcpListeners, host: str) -> None:
    """Close all connections and ports of a host whose agent was revoked."""
    await tcp_listeners.settle(host, [])
    await hub.cut(host)


async def wait_for_change(request: Request) -> Response:
    """Return `{"version": n}` as soon as the host's counter differs from `since`, else after 20 to 30 s."""
    change, answer = await _wait(request, _ticket(request, "host:"))
    return JSONResponse(answer | {"slip": change.slip} if change.slip else answer, headers=NEVER_STORED)


async def wait_for_user_change(request: Request) -> Response:
    """Wait for changes of a user's own instances, for scripts.

    The answer has `changes` if the ticket permits it and all changes since then are known. The parameters
    `instance` and `state` (which may be repeated) select the changes that end the wait and are told.
    """
    ticket = _ticket(request, "user:", NEWS)
    hears_news, wanted = ticket.topic.startswith(NEWS), _wanted(request)
    if wanted is not None and not hears_news:
        raise RelayError(403, "no_news", "This address doesn't report on instances: its token can't read them.")
    change, answer = await _wait(request, ticket, keep_news=hears_news, wanted=wanted)
    if change.news is not None and hears_news:
        answer["changes"] = [parse_json_object(news) for news in change.news if (wanted or parse_json_object)(news)]
    return JSONResponse(answer, headers=NEVER_STORED)


async def _wait(
    request: Request, ticket: Ticket, *, keep_news: bool = False, wanted: NewsFilter | None = None
) -> tuple[Change, dict[str, Any]]:
    """Wait for a change; a client whose ticket was revoked meanwhile gets a refusal instead."""
    config, switchboard = _parts(request)
    since = _since(request)
    hold_s = random.uniform(*config.hold_s)  # noqa: S311 no secret: it spreads load
    change = await switchboard.wait(_topic(ticket), since=since, hold_s=hold_s, keep_news=keep_news, wanted=wanted)
    _check(request, ticket)
    return change, {"version": since if change.version is None else change.version}


async def stream_changes(request: Request) -> Response:
    """Send server-sent events: `change` with the counter as id.

    The first comes at once, unless the browser has already seen the present counter.
    """
    ticket = _ticket(request, "user:")
    seen = request.headers.get("last-event-id", "")
    since = int(seen) if seen.isascii() and seen.isdigit() and len(seen) < MAX_DIGITS else NEVER_SEEN
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    events = _events(request, ticket, since)
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


async def show_health(request: Request) -> Response:
    """Return 200 while the program runs; without Redis the relay still answers, only later."""
    switchboard = _parts(request)[1]
    state = request.app.state
    counts = {"waiters": len(switchboard), "links": len(state.hub), "tunnels": len(state.tcp_listeners)}
    return JSONResponse({"status": "ok", "redis": switchboard.listening, **counts})


def render_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = error.code if isinstance(error, RelayError) else error.detail.lower().replace(" ", "_")
    body = {"type": "about:blank", "title": error.detail, "status": error.status_code, "detail": error.detail, "code": code}
    return JSONResponse(body, error.status_code, error.headers, media_type="application/problem+json")


async def _events(request: Request, ticket: Ticket, since: int) -> AsyncIterator[str]:
    config, switchboard = _parts(request)
    ticket_checker: TicketChecker = request.app.state.ticket_checker
    yield f"retry: {config.retry_ms}\n\n"
    while not switchboard.closing:
        left_s = ticket.expires_at - time.time()
        if left_s <= 0:
            yield "event: expired\ndata:\n\n"
            return
        change = await switchboard.wait(ticket.topic, since=since, hold_s=min(config.keep_alive_s, left_s))
        version = change.version
        try:
            ticket_checker.check(ticket.bonds)
        except BadTicket:
            yield "event: expired\ndata:\n\n"
            return
        if version == since:
            yield ": keep-alive\n\n"
            continue
        since = since if version is None else version
        yield f"id: {since}\nevent: change\ndata: {since}\n\n"
        await asyncio.sleep(config.coalesce_s)


def _parts(request: Request) -> tuple[RelayConfig, ChangeNotifier]:
    return request.app.state.config, request.app.state.switchboard


def _ticket(request: Request, *kinds: str) -> Ticket:
    """Return the request's ticket, if it is of one of these kinds and its topic has not too many waiters.

    Raises:
        RelayError: The ticket is bad, revoked or of another kind, or the topic has too many waiters.
    """
    config, switchboard = _parts(request)
    ticket_checker: TicketChecker = request.app.state.ticket_checker
    try:
        ticket = ticket_checker.read(request.query_params.get("ticket", ""))
    except BadTicket as error:
        raise _bad_ticket(error) from error
    if switchboard.ended.voids(ticket):
        raise RelayError(401, "revoked", "The key of this host's agent was revoked.")
    if not ticket.topic.startswith(kinds):
        raise RelayError(403, "wrong_topic", "The ticket is for another kind of topic.")
    if switchboard.count(_topic(ticket)) >= config.waiters_per_topic:
        raise RelayError(429, "too_many_waiters", "Too many requests wait for this topic.", {"Retry-After": "5"})
    return ticket


def _check(request: Request, ticket: Ticket) -> None:
    ticket_checker: TicketChecker = request.app.state.ticket_checker
    try:
        ticket_checker.check(ticket.bonds)
    except BadTicket as error:
        raise _bad_ticket(error) from error


def _bad_ticket(error: BadTicket) -> RelayError:
    return RelayError(401, "bad_ticket", f"The ticket is {error}.")


def _wanted(request: Request) -> NewsFilter | None:
    instance, states = request.query_params.get("instance"), request.query_params.getlist("state")
    if instance is None and not states:
        return None

    def is_wanted(news: str) -> bool:
        message = parse_json_object(news)
        return instance in (None, message.get("instance")) and (not states or message.get("state") in states)

    return is_wanted


def _topic(ticket: Ticket) -> str:
    return f"user:{ticket.topic.removeprefix(NEWS)}" if ticket.topic.startswith(NEWS) else ticket.topic


def _since(request: Request) -> int:
    text = request.query_params.get("since", "")
    if not (text.isascii() and text.isdigit() and len(text) < MAX_DIGITS):
        raise RelayError(400, "invalid_since", "since must be the last version you received, a whole number.")
    return int(text)
