"""The relay's addresses: waiting agents, page events, streams, its own health."""

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

from agents.protocol.codec import words_of
from agents.protocol.tickets import BadTicket, Ticket, read_ticket
from agents.relay.config import RelayConfig
from agents.relay.doors import Doors
from agents.relay.downloads import ROUTES as DOWNLOAD_ROUTES
from agents.relay.hub import Hub, Pairs
from agents.relay.streams import ROUTES as STREAM_ROUTES
from agents.relay.switchboard import Change, Switchboard, Wanted
from agents.relay.web import WebSites

MAX_DIGITS = 19
NEWS = "news:"  # leave to wait for the topic `user:<hex>`, and to hear what has changed
NEVER_STORED = {"Cache-Control": "no-store"}
NEVER_SEEN = -1  # differs from every counter, so that the first comparison answers


class Refusal(HTTPException):
    """A request that is refused, with the stable code of its problem document."""

    def __init__(self, status: int, code: str, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(status, detail, headers)
        self.code = code


def build_app(config: RelayConfig) -> Starlette:
    switchboard = Switchboard(config.redis_url)
    hub = Hub()
    doors = Doors(hub, secret=config.secret, listen=config.tcp_listen, ports=config.tcp_ports)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await switchboard.start()
        sweep = asyncio.create_task(doors.sweep())
        yield
        sweep.cancel()
        await doors.close()
        await switchboard.stop()

    cross_origin = Middleware(CORSMiddleware, allow_origins=config.origins, allow_methods=["GET"])
    app = Starlette(
        routes=[
            *([Host(f"{{site}}.{config.web_host}", WebSites(hub, secret=config.secret))] if config.web_host else []),
            Route("/agent/v1/wait", wait_for_change),
            Route("/relay/v1/wait", wait_for_change_of_mine),
            Route("/relay/v1/events", stream_changes, middleware=[cross_origin]),
            Route("/healthz", show_health),
            *STREAM_ROUTES,
            *DOWNLOAD_ROUTES,
        ],
        lifespan=lifespan,
        exception_handlers={HTTPException: render_problem},
    )
    app.state.config, app.state.switchboard = config, switchboard
    app.state.hub, app.state.doors, app.state.pairs = hub, doors, Pairs()
    return app


async def wait_for_change(request: Request) -> Response:
    """`{"version": n}` as soon as the host's counter differs from `since`, else after 20 to 30 s."""
    change, answer = await _wait(request, _ticket(request, "host:").topic)
    return JSONResponse(answer | {"slip": change.slip} if change.slip else answer, headers=NEVER_STORED)


async def wait_for_change_of_mine(request: Request) -> Response:
    """The same for a person's script; with `changes` where the ticket is good for them and all since then are known.

    `instance` and `state` (the latter also several times) name those to wait for, and to hear of.
    """
    ticket = _ticket(request, "user:", NEWS)
    hears_news, wanted = ticket.topic.startswith(NEWS), _wanted(request)
    if wanted is not None and not hears_news:
        raise Refusal(403, "no_news", "This address tells nothing of instances: its token may not read them.")
    change, answer = await _wait(request, _topic(ticket), follow=hears_news, wanted=wanted)
    if change.news is not None and hears_news:
        answer["changes"] = [words_of(news) for news in change.news if (wanted or words_of)(news)]
    return JSONResponse(answer, headers=NEVER_STORED)


async def _wait(request: Request, topic: str, **news: Any) -> tuple[Change, dict[str, Any]]:
    config, switchboard = _parts(request)
    since = _since(request)
    hold_s = random.uniform(*config.hold_s)  # noqa: S311 no secret: it spreads load
    change = await switchboard.wait(topic, since=since, hold_s=hold_s, **news)
    return change, {"version": since if change.version is None else change.version}


async def stream_changes(request: Request) -> Response:
    """Server-sent events: `change` with the counter as id, at once unless the browser has seen that counter."""
    ticket = _ticket(request, "user:")
    seen = request.headers.get("last-event-id", "")
    since = int(seen) if seen.isascii() and seen.isdigit() and len(seen) < MAX_DIGITS else NEVER_SEEN
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    events = _events(*_parts(request), ticket, since)
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


async def show_health(request: Request) -> Response:
    """200 while the program runs: without Redis it still answers, only later."""
    switchboard = _parts(request)[1]
    state = request.app.state
    counts = {"waiters": len(switchboard), "links": len(state.hub), "tunnels": len(state.doors)}
    return JSONResponse({"status": "ok", "redis": switchboard.listening, **counts})


def render_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = error.code if isinstance(error, Refusal) else error.detail.lower().replace(" ", "_")
    body = {"type": "about:blank", "title": error.detail, "status": error.status_code, "detail": error.detail, "code": code}
    return JSONResponse(body, error.status_code, error.headers, media_type="application/problem+json")


async def _events(config: RelayConfig, switchboard: Switchboard, ticket: Ticket, since: int) -> AsyncIterator[str]:
    yield f"retry: {config.retry_ms}\n\n"
    while not switchboard.closing:
        left_s = ticket.expires_at - time.time()
        if left_s <= 0:
            yield "event: expired\ndata:\n\n"
            return
        change = await switchboard.wait(ticket.topic, since=since, hold_s=min(config.keep_alive_s, left_s))
        version = change.version
        if version == since:
            yield ": keep-alive\n\n"
            continue
        since = since if version is None else version
        yield f"id: {since}\nevent: change\ndata: {since}\n\n"
        await asyncio.sleep(config.coalesce_s)


def _parts(request: Request) -> tuple[RelayConfig, Switchboard]:
    return request.app.state.config, request.app.state.switchboard


def _ticket(request: Request, *kinds: str) -> Ticket:
    """The request's ticket, if it is of one of these kinds and its topic is not crowded."""
    config, switchboard = _parts(request)
    try:
        ticket = read_ticket(config.secret, request.query_params.get("ticket", ""), now=time.time())
    except BadTicket as error:
        raise Refusal(401, "bad_ticket", f"The ticket is {error}.") from error
    if not ticket.topic.startswith(kinds):
        raise Refusal(403, "wrong_topic", "The ticket is for another kind of topic.")
    if switchboard.count(_topic(ticket)) >= config.waiters_per_topic:
        raise Refusal(429, "too_many_waiters", "Too many requests wait for this topic.", {"Retry-After": "5"})
    return ticket


def _wanted(request: Request) -> Wanted | None:
    instance, states = request.query_params.get("instance"), request.query_params.getlist("state")
    if instance is None and not states:
        return None

    def is_wanted(news: str) -> bool:
        told = words_of(news)
        return instance in (None, told.get("instance")) and (not states or told.get("state") in states)

    return is_wanted


def _topic(ticket: Ticket) -> str:
    return f"user:{ticket.topic.removeprefix(NEWS)}" if ticket.topic.startswith(NEWS) else ticket.topic


def _since(request: Request) -> int:
    text = request.query_params.get("since", "")
    if not (text.isascii() and text.isdigit() and len(text) < MAX_DIGITS):
        raise Refusal(400, "invalid_since", "since must be the version that was told last, a whole number.")
    return int(text)
