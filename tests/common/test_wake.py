"""Change counters: a waiter that compares them misses nothing."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.conf import settings as live_settings
from django.db import transaction
from pytest_django.fixtures import Settings

from common import change_counters
from common.errors import DomainError
from common.redis_client import connect


@pytest.fixture
def counters() -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(live_settings.REDIS_URL)
    client.flushdb()
    yield client
    client.close()


@pytest.mark.django_db(transaction=True)
def test_a_touch_counts_and_tells_after_the_commit(counters: redis.Redis) -> None:
    listener: Any = counters.pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]  # redis-py is untyped here
    listener.subscribe(change_counters.topic_key("host:a"))
    listener.get_message(timeout=1)
    with transaction.atomic():
        change_counters.notify_change("host:a", "user:b")
        assert change_counters.version_of("host:a") == 0
    first = change_counters.version_of("host:a")
    assert min(first, change_counters.version_of("user:b")) > 0
    message = listener.get_message(timeout=5)
    assert message is not None
    assert int(message["data"]) == first
    change_counters.notify_change("host:a")
    assert change_counters.version_of("host:a") > first
    listener.close()


@pytest.mark.django_db(transaction=True)
def test_a_rollback_wakes_nobody(counters: redis.Redis) -> None:
    with pytest.raises(DomainError), transaction.atomic():
        change_counters.notify_change("host:a")
        raise DomainError
    assert change_counters.version_of("host:a") == 0


@pytest.mark.django_db(transaction=True)
def test_without_redis_nothing_fails(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    dead = connect(timeout_s=1)
    monkeypatch.setattr(change_counters, "_client", lambda: dead)
    monkeypatch.setattr(change_counters, "_warned", set())
    begun = time.monotonic()
    for topic in ("host:a", "host:b", "host:c"):
        change_counters.notify_change(topic)
    assert change_counters.version_of("host:a") == 0
    assert caplog.text.count("not touched") == 1, "once, not for each host"
    assert time.monotonic() - begun < 1  # redis-py's own retries would hold a request for seconds
