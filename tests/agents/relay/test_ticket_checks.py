"""Tickets fall with what they were asked for with: at their next use, while they wait, and what they opened is cut."""

import asyncio
import os
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
import redis
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from agents.protocol.tickets import BadTicket, sign_ticket
from agents.relay.ticket_checks import BLIND_S, ENDED, TicketChecker
from tests.agents.relay.conftest import SECRET, MortalRedis, Relay, wait_until
from tests.agents.relay.streaming import Service, StreamHost, echo

AGENTS = Path(__file__).resolve().parents[3] / "agents"


@pytest.fixture
def bond() -> str:
    return f"t:{uuid4().hex}"


@pytest.fixture
def shared() -> Iterator[redis.Redis]:
    with redis.Redis.from_url(os.environ["REDIS_URL"]) as client:
        yield client
        client.delete(ENDED)


def bound(topic: str, *bonds: str, lifetime_s: float = 600) -> str:
    return sign_ticket(SECRET, topic=topic, expires_at=int(time.time() + lifetime_s), bonds=bonds)


def end(client: redis.Redis, name: str) -> None:
    """As common.revocation does."""
    until = int(time.time()) + 600
    client.zadd(ENDED, {name: until})
    client.publish(ENDED, f"{until} {name}")


def ask(relay: Relay, ticket: str, path: str = "/relay/v1/wait", since: int = 1) -> httpx.Response:
    return httpx.get(f"{relay.url}{path}", params={"ticket": ticket, "since": str(since)}, timeout=60)


def is_known(relay: Relay, name: str) -> bool:
    ticket_checker: TicketChecker = relay.server.config.app.state.ticket_checker  # type: ignore[union-attr]  # a Starlette, not a name
    return name in ticket_checker._ended


def test_a_ticket_ends_with_its_token(relay: Relay, shared: redis.Redis, bond: str) -> None:
    topic = f"user:{uuid4().hex}"
    shared.set(f"wake:{topic}", 5)
    ticket, other = bound(topic, "u:x:0", bond), bound(topic, "u:x:0", "t:another")
    assert ask(relay, ticket).json() == {"version": 5}
    end(shared, bond)
    wait_until(lambda: is_known(relay, bond))
    refused = ask(relay, ticket)
    assert (refused.status_code, refused.json()["code"]) == (401, "bad_ticket")
    assert "revoked" in refused.json()["detail"]
    assert ask(relay, ticket, "/relay/v1/events").status_code == 401
    assert ask(relay, other).json() == {"version": 5}


def test_who_waits_when_it_is_revoked_hears_nothing(relay: Relay, shared: redis.Redis, bond: str) -> None:
    topic = f"user:{uuid4().hex}"
    shared.set(f"wake:{topic}", 5)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask, relay, bound(topic, bond), since=5)
        relay.until_waiting(topic)
        end(shared, bond)
        wait_until(lambda: is_known(relay, bond))
        shared.incr(f"wake:{topic}")
        shared.publish(f"wake:{topic}", 6)
        assert waiting.result(20).status_code == 401


def test_a_page_s_events_end(relay: Relay, shared: redis.Redis, bond: str) -> None:
    topic = f"user:{uuid4().hex}"
    shared.set(f"wake:{topic}", 5)
    address = f"{relay.url}/relay/v1/events?ticket={bound(topic, bond)}"
    with httpx.stream("GET", address, timeout=20) as reply:
        lines = reply.iter_lines()
        assert next(line for line in lines if line.startswith("event:")) == "event: change"
        end(shared, bond)
        wait_until(lambda: is_known(relay, bond))
        shared.set(f"wake:{topic}", 6)
        shared.publish(f"wake:{topic}", 6)
        assert [line for line in lines if line.startswith(("event:", "data: 6"))] == ["event: expired"]


def test_an_open_stream_is_cut_and_no_new_one_opens(relay: Relay, host: StreamHost, shared: redis.Redis, bond: str) -> None:
    def address() -> str:
        ticket = bound(f"stream:{host.id}:{host.grant('port', port=80)}", bond)
        return relay.url.replace("http", "ws", 1) + f"/relay/v1/streams?ticket={ticket}"

    async def talk() -> list[tuple[int | None, str | None]]:
        closes = []
        async with connect(address(), compression=None) as ws:
            await ws.send(b"a")
            assert await ws.recv() == b"a"
            end(shared, bond)
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(ws.recv(), 20)
            closes.append((ws.close_code, ws.close_reason))
        async with connect(address(), compression=None) as ws:
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(ws.recv(), 20)
            closes.append((ws.close_code, ws.close_reason))
        return closes

    with Service(echo) as service:
        host.containers.ports[80] = service.port
        assert asyncio.run(talk()) == [(4401, "revoked"), (4401, "bad_ticket")]
    wait_until(lambda: host.streams.sessions(host.instance) == 0)


def test_what_ended_before_the_relay_started_is_known(
    start_relay: Callable[..., Relay], shared: redis.Redis, bond: str
) -> None:
    end(shared, bond)
    assert ask(start_relay(), bound("user:a", bond)).status_code == 401


def test_what_ended_while_redis_was_away_is_known_when_it_is_back(
    start_relay: Callable[..., Relay], mortal_redis: MortalRedis, bond: str
) -> None:
    relay = start_relay(redis_url=mortal_redis.url)
    mortal_redis.kill()
    wait_until(lambda: not relay.switchboard.listening)
    mortal_redis.start()
    mortal_redis.client.zadd(ENDED, {bond: int(time.time()) + 600})  # without a word on the channel
    wait_until(lambda: relay.switchboard.listening)
    wait_until(lambda: is_known(relay, bond) or not relay.switchboard.listening)
    assert ask(relay, bound("user:a", bond)).status_code == 401


def test_without_ever_having_heard_it_takes_no_ticket_of_a_person(start_relay: Callable[..., Relay], bond: str) -> None:
    relay = start_relay(redis_url="redis://127.0.0.1:1/0", listening=False)
    refused = ask(relay, bound("user:a", bond))
    assert refused.status_code == 401
    assert "not to be proven" in refused.json()["detail"]


def test_long_after_redis_was_lost_it_takes_none_either(monkeypatch: pytest.MonkeyPatch, bond: str) -> None:
    ticket_checker, moment = TicketChecker(SECRET), time.monotonic()
    ticket_checker.add_revocations({})
    ticket_checker.read(bound("user:a", bond))
    ticket_checker.lose()
    ticket_checker.read(bound("user:a", bond))
    monkeypatch.setattr("agents.relay.ticket_checks.time.monotonic", lambda: moment + BLIND_S + 1)
    with pytest.raises(BadTicket, match="not to be proven"):
        ticket_checker.read(bound("user:a", bond))
    assert ticket_checker.read(bound("host:a")).topic == "host:a", "an agent's is bound to nothing"


def test_what_was_learnt_stays_when_redis_forgets(bond: str) -> None:
    ticket_checker = TicketChecker(SECRET)
    ticket_checker.add_revocations({bond: int(time.time()) + 600, "t:over": int(time.time()) - 1})
    ticket_checker.add_revocations({})
    with pytest.raises(BadTicket, match="revoked"):
        ticket_checker.read(bound("user:a", bond))
    assert "t:over" not in ticket_checker._ended


def test_the_checker_alone_reads_tickets_in_the_relay() -> None:
    modules = (AGENTS / "relay").glob("*.py")
    reading = [path.name for path in modules if re.search(r"\bread_ticket\b", path.read_text(encoding="utf-8"))]
    assert reading == ["ticket_checks.py"]
