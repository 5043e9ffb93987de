"""A host whose agent's key was revoked: its waits, its link and its streams end at once, and its old tickets are void."""

import asyncio
import os
import threading
import time
from collections.abc import Callable

import httpx
import redis
from websockets.asyncio.client import connect

from .conftest import PATIENCE_S, Relay, hub, wait_until
from .streaming import Service, StreamHost, echo
from .test_streams import client, close_of


def revoke(host: str, *, at: float, over: bool = False) -> None:
    """As common.change_counters.revoke_tickets says it."""
    words, names = f"{int(at)} {int(over)}", redis.Redis.from_url(os.environ["REDIS_URL"])
    names.set(f"ended:host:{host}", words, ex=3600)
    names.publish(f"ended:host:{host}", words)
    names.close()


def ask(relay: Relay, ticket: str) -> httpx.Response:
    return httpx.get(f"{relay.url}/agent/v1/wait", params={"since": "0", "ticket": ticket}, timeout=PATIENCE_S)


def test_a_wait_ends_and_none_begins_until_there_is_a_new_key(relay: Relay, topic: str) -> None:
    host, ticket = topic.removeprefix("host:"), relay.ticket(topic)
    ended: list[int] = []
    waiting = threading.Thread(target=lambda: ended.append(ask(relay, ticket).status_code))
    waiting.start()
    relay.until_waiting(topic)
    revoke(host, at=time.time())
    waiting.join(10)
    assert ended == [200]
    refused = ask(relay, ticket)
    assert (refused.status_code, refused.json()["code"]) == (401, "revoked")
    revoke(host, at=time.time(), over=True)
    names = redis.Redis.from_url(os.environ["REDIS_URL"])
    names.incr(f"wake:{topic}")
    names.close()
    assert ask(relay, relay.ticket(topic, lifetime_s=660)).status_code == 200  # given after the new enrolment
    assert ask(relay, ticket).status_code == 401  # the old agent's


def test_a_relay_that_starts_later_knows_it_too(start_relay: Callable[..., Relay], topic: str) -> None:
    revoke(topic.removeprefix("host:"), at=time.time())
    relay = start_relay()
    assert ask(relay, relay.ticket(topic, lifetime_s=590)).status_code == 401  # given ten seconds before that


def test_link_and_open_streams_are_cut(relay: Relay, host: StreamHost) -> None:
    async def talk() -> None:
        async with client(relay, host.ticket(host.grant("port", port=80))) as ws:
            await ws.send(b"a")
            assert await ws.recv() == b"a"
            revoke(host.id, at=time.time())
            await close_of(ws)

    with Service(echo) as service:
        host.containers.ports[80] = service.port
        asyncio.run(talk())
    wait_until(lambda: not hub(relay).is_linked(host.id))


def test_a_copy_s_ticket_is_void_while_its_host_has_no_key(start_relay: Callable[..., Relay], topic: str) -> None:
    host = topic.removeprefix("host:")
    revoke(host, at=time.time())
    relay = start_relay()

    async def meet() -> tuple[int | None, str]:
        ticket = relay.ticket(f"pair:abc:{host}:source", lifetime_s=14_400)
        address = relay.url.replace("http", "ws", 1) + f"/relay/v1/pairs/abc?ticket={ticket}"
        async with connect(address) as ws:
            return await close_of(ws)

    assert asyncio.run(meet()) == (4401, "revoked")
