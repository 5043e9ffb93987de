"""Events for pages: one change each, a sign of life, an end with the ticket, and no other site's pages."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import httpx
import pytest

from agents.protocol.tickets import sign_ticket
from common import change_counters

from .conftest import PATIENCE_S, SECRET, SITE, MortalRedis, Relay, wait_until

StartRelay = Callable[..., Relay]


@pytest.fixture
def page_topic() -> str:
    return f"user:{uuid4().hex}"


@contextmanager
def open_stream(relay: Relay, topic: str, *, lifetime_s: float = 600, seen: int | None = None) -> Iterator[Iterator[str]]:
    address = f"{relay.url}/relay/v1/events"
    query = {"ticket": relay.ticket(topic, lifetime_s=lifetime_s)}
    headers = {} if seen is None else {"Last-Event-ID": str(seen)}
    with httpx.stream("GET", address, params=query, headers=headers, timeout=PATIENCE_S) as reply:
        assert reply.status_code == 200
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert reply.headers["cache-control"] == "no-store"
        yield reply.iter_lines()


def next_event(lines: Iterator[str]) -> dict[str, str]:
    """The fields of the next event; a comment counts as one with the field ''."""
    fields: dict[str, str] = {}
    for line in lines:
        if not line and fields:
            return fields
        name, _, value = line.partition(":")
        fields[name] = value.strip()
    return fields


def test_a_stream_begins_with_a_hint_and_one_change(relay: Relay, page_topic: str) -> None:
    """The page was drawn before the stream was opened: only a first look proves that nothing changed in between."""
    change_counters._notify_change_now((page_topic,))
    version = str(change_counters.version_of(page_topic))
    with open_stream(relay, page_topic) as lines:
        assert next_event(lines) == {"retry": "3000"}
        assert next_event(lines) == {"id": version, "event": "change", "data": version}


def test_each_change_is_told(start_relay: StartRelay, page_topic: str) -> None:
    relay = start_relay(coalesce_s=0.0)
    with open_stream(relay, page_topic) as lines:
        assert next_event(lines) == {"retry": "3000"}
        assert next_event(lines)["id"] == "0"
        for _ in range(20):
            change_counters._notify_change_now((page_topic,))
            assert next_event(lines)["id"] == str(change_counters.version_of(page_topic))


def test_a_burst_becomes_few_events_and_the_last_is_told(start_relay: StartRelay, page_topic: str) -> None:
    relay = start_relay(coalesce_s=0.05)
    with open_stream(relay, page_topic) as lines:
        next_event(lines)
        next_event(lines)
        for _ in range(2_000):
            change_counters._notify_change_now((page_topic,))
        newest, sent_count = str(change_counters.version_of(page_topic)), 1
        while next_event(lines)["id"] != newest:
            sent_count += 1
        assert sent_count < 200


def test_a_browser_that_comes_back_is_told_what_it_missed(start_relay: StartRelay, page_topic: str) -> None:
    relay = start_relay(keep_alive_s=0.05)
    change_counters._notify_change_now((page_topic,))
    seen = change_counters.version_of(page_topic)
    with open_stream(relay, page_topic, seen=seen) as lines:
        next_event(lines)
        assert next_event(lines) == {"": "keep-alive"}  # it has missed nothing
    change_counters._notify_change_now((page_topic,))
    with open_stream(relay, page_topic, seen=seen) as lines:
        next_event(lines)
        assert next_event(lines)["id"] == str(seen + 1)


def test_a_quiet_stream_stays_alive_and_ends_with_its_ticket(start_relay: StartRelay, page_topic: str) -> None:
    relay = start_relay(keep_alive_s=0.2)
    with open_stream(relay, page_topic, lifetime_s=2) as lines:
        events = list(iter(lambda: next_event(lines), {}))
    assert {"": "keep-alive"} in events
    assert events[-1] == {"event": "expired", "data": ""}
    assert relay.switchboard.count(page_topic) == 0


def test_a_closed_page_leaves_nothing_behind(start_relay: StartRelay, page_topic: str) -> None:
    relay = start_relay(keep_alive_s=0.1)
    with open_stream(relay, page_topic) as lines:
        next_event(lines)
        relay.until_waiting(page_topic)
    wait_until(lambda: relay.switchboard.count(page_topic) == 0)


def test_a_lost_redis_tells_pages_to_look(start_relay: StartRelay, mortal_redis: MortalRedis) -> None:
    relay = start_relay(redis_url=mortal_redis.url)
    with open_stream(relay, "user:a") as lines:
        next_event(lines)
        next_event(lines)
        relay.until_waiting("user:a")
        mortal_redis.kill()
        assert next_event(lines)["event"] == "change"
        mortal_redis.start()


@pytest.mark.parametrize(
    ("ticket", "status", "code"),
    [
        ("nonsense", 401, "bad_ticket"),
        (sign_ticket("another-secret", topic="user:a", expires_at=2**33), 401, "bad_ticket"),
        (sign_ticket(SECRET, topic="user:a", expires_at=int(time.time()) - 1), 401, "bad_ticket"),
        (sign_ticket(SECRET, topic="host:a", expires_at=2**33), 403, "wrong_topic"),
    ],
    ids=["nonsense", "forged", "expired", "for an agent"],
)
def test_a_stream_needs_a_ticket_for_a_user(relay: Relay, ticket: str, status: int, code: str) -> None:
    reply = httpx.get(f"{relay.url}/relay/v1/events", params={"ticket": ticket})
    assert (reply.status_code, reply.json()["code"]) == (status, code)


def test_only_the_site_s_own_pages_may_read(relay: Relay) -> None:
    address = f"{relay.url}/relay/v1/events?ticket=none"
    assert httpx.get(address, headers={"Origin": SITE}).headers["access-control-allow-origin"] == SITE
    assert "access-control-allow-origin" not in httpx.get(address, headers={"Origin": "https://evil.example"}).headers
    waiting = httpx.get(f"{relay.url}/agent/v1/wait", headers={"Origin": SITE})
    assert "access-control-allow-origin" not in waiting.headers


def test_a_stopping_relay_ends_its_streams(relay: Relay, page_topic: str) -> None:
    with open_stream(relay, page_topic) as lines:
        next_event(lines)
        relay.until_waiting(page_topic)
        relay.stop()
        assert list(iter(lambda: next_event(lines), {}))
