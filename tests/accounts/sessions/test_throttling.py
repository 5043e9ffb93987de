"""Quotas: counted by token, user and address, over several processes, and without Redis."""

import secrets
from collections.abc import Callable
from typing import Any

import pytest
import redis
import time_machine
from django.conf import settings as live_settings
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from accounts.tokens.services import issue_token
from common.rate_counters import STEPS, RequestCounter
from common.redis_client import connect

Bearer = Callable[..., Client]
NOON = 1_800_000_000.0 - 1_800_000_000 % 60


@pytest.fixture
def shared() -> redis.Redis:
    client = redis.Redis.from_url(live_settings.REDIS_URL)
    client.flushdb()
    return client


def test_headers_tell_the_quota_and_what_is_left(alice: User, bearer: Bearer, settings: Settings) -> None:
    settings.API_RATE_USER = 5
    client = bearer(alice, "keys:read")
    with time_machine.travel(NOON + 10, tick=False):
        for left in (4, 3, 2, 1, 0):
            reply = client.get("/api/v1/me")
            assert reply.status_code == 200
            assert reply.headers["RateLimit-Policy"] == '"account";q=5;w=60'
            assert reply.headers["RateLimit"] == f'"account";r={left};t=50'
        refused = client.get("/api/v1/me")
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "50")
        assert refused.json()["code"] == "throttled"
        assert refused.headers["RateLimit"] == '"account";r=0;t=50'
        assert bearer(alice, "keys:read").get("/api/v1/me").status_code == 200  # another token
    with time_machine.travel(NOON + 60, tick=False):
        assert client.get("/api/v1/me").status_code == 200


def test_strangers_are_counted_by_address(db: None, settings: Settings) -> None:
    settings.API_RATE_ANONYMOUS = 2
    here, there = Client(REMOTE_ADDR="192.0.2.1"), Client(REMOTE_ADDR="192.0.2.2")
    with time_machine.travel(NOON, tick=False):
        replies = [here.get("/api/v1/images") for _ in range(3)]
        assert [reply.status_code for reply in replies] == [200, 200, 429]
        assert replies[0].headers["RateLimit-Policy"] == '"address";q=2;w=60'
        assert there.get("/api/v1/images").status_code == 200
        spoofed = Client(REMOTE_ADDR="192.0.2.1", headers={"x-forwarded-for": "192.0.2.3"})
        assert spoofed.get("/api/v1/images").status_code == 429  # no proxy of ours said so


def test_a_network_of_ipv6_is_one_stranger(db: None, settings: Settings) -> None:
    """Who has a /64 has as many addresses as they want."""
    settings.API_RATE_ANONYMOUS = 2
    with time_machine.travel(NOON, tick=False):
        replies = [Client(REMOTE_ADDR=f"2001:db8::{n:x}").get("/api/v1/offers").status_code for n in range(1, 4)]
        assert replies == [200, 200, 429]
        assert Client(REMOTE_ADDR="2001:db8:0:1::1").get("/api/v1/offers").status_code == 200


def test_each_ipv4_client_is_one_also_behind_a_socket_for_both_families(db: None, settings: Settings) -> None:
    settings.API_RATE_ANONYMOUS = 1
    with time_machine.travel(NOON, tick=False):
        replies = [Client(REMOTE_ADDR=f"::ffff:192.0.2.{n}").get("/api/v1/offers").status_code for n in (1, 2, 1)]
    assert replies == [200, 200, 429]


def test_the_contract_is_not_counted(db: None, settings: Settings) -> None:
    settings.API_RATE_ANONYMOUS = 1
    assert [Client().get("/api/v1/openapi.json").status_code for _ in range(3)] == [200] * 3


def test_two_processes_share_one_quota(shared: redis.Redis) -> None:
    processes = [RequestCounter(shared), RequestCounter(shared)]
    quota = 10
    used = [processes[number % 2].count("asker", quota=quota, at=NOON) for number in range(20)]
    assert used == list(range(1, 21))  # a quota below STEPS is settled at each request


def test_a_large_quota_is_settled_in_steps(shared: redis.Redis) -> None:
    processes = [RequestCounter(shared), RequestCounter(shared)]
    quota = 10 * STEPS
    allowed = sum(processes[number % 2].count("asker", quota=quota, at=NOON) <= quota for number in range(2 * quota))
    assert quota <= allowed <= quota + 2 * quota // STEPS


def test_without_redis_each_process_counts_alone_and_soon_asks_again(settings: Settings, shared: redis.Redis) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    counter = RequestCounter(connect(timeout_s=1))
    assert [counter.count("asker", quota=3, at=NOON) for _ in range(5)] == [1, 2, 3, 4, 5]
    counter._client = shared
    counter.count("asker", quota=3, at=NOON + 10)
    assert shared.get(f"rate:asker:{int(NOON) // 60}") is not None


# -- wrong tokens


def bearer_of(text: str, address: str = "192.0.2.1") -> Client:
    return Client(REMOTE_ADDR=address, headers={"authorization": f"Bearer {text}"})


def wrong_token() -> str:
    return f"berth_{secrets.token_hex(6)}_{secrets.token_hex(32)}"


def test_wrong_tokens_are_counted_before_the_database_is_asked(
    alice: User, settings: Settings, django_assert_num_queries: Callable[..., Any]
) -> None:
    settings.API_RATE_FAILED = 5
    _, text = issue_token(user=alice, name="good", scopes=["keys:read"])
    with time_machine.travel(NOON + 10, tick=False):
        tried = [bearer_of(wrong_token()).get("/api/v1/me").status_code for _ in range(5)]
        assert tried == [401] * 5
        with django_assert_num_queries(0):
            refused = bearer_of(wrong_token()).get("/api/v1/me")
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "50")
        assert refused.json()["code"] == "throttled"
        assert bearer_of("nonsense").get("/api/v1/me").status_code == 429
        assert bearer_of(text, "192.0.2.2").get("/api/v1/me").status_code == 200, "nobody else is refused"
    with time_machine.travel(NOON + 60, tick=False):
        assert bearer_of(text).get("/api/v1/me").status_code == 200


def test_right_tokens_are_not_counted(alice: User, settings: Settings) -> None:
    settings.API_RATE_FAILED = 2
    _, text = issue_token(user=alice, name="good", scopes=["keys:read"])
    assert [bearer_of(text).get("/api/v1/me").status_code for _ in range(5)] == [200] * 5


def test_a_network_of_ipv6_is_one_guesser(db: None, settings: Settings) -> None:
    settings.API_RATE_FAILED = 3
    with time_machine.travel(NOON, tick=False):
        addresses = [f"2001:db8::{number:x}" for number in range(4)]
        replies = [bearer_of(wrong_token(), address).get("/api/v1/me").status_code for address in addresses]
        assert replies == [401, 401, 401, 429]
