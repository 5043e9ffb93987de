"""Change counters in Redis: waiters compare counters, so no wake-up between two waits is lost."""

import logging
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from types import MappingProxyType
from typing import Final

import redis
from django.db import transaction

from common.redis_client import connect

logger = logging.getLogger(__name__)

ENDED_PREFIX: Final = "ended:"
_ENDED_KEPT_S: Final = 86_400
_warned: set[str] = set()
NO_PAYLOADS: Final[Mapping[str, str]] = MappingProxyType({})

# One round trip: count, then publish; the slip first, since the counter ends the waits. The relay subscribes first
# and compares afterwards. A counter that Redis does not know starts at the present microsecond: if it restarted at 1
# after a FLUSHALL, it could reach the number that a waiter has seen.
_TOUCH = """
local v = redis.call('INCR', KEYS[1])
if v == 1 then
  local now = redis.call('TIME')
  v = now[1] * 1000000 + now[2]
  redis.call('SET', KEYS[1], string.format('%.0f', v))
end
v = string.format('%.0f', v)
if ARGV[1] ~= '' then
  redis.call('PUBLISH', ARGV[2], v .. ' ' .. ARGV[1])
end
redis.call('PUBLISH', KEYS[1], v)
return v
"""


@cache
def _client() -> redis.Redis:
    return connect(timeout_s=1)


def topic_key(topic: str) -> str:
    return f"wake:{topic}"


def early_order_channel(topic: str) -> str:
    return f"slip:{topic}"


def touch_command(topic: str, payload: str = "") -> tuple[str, int, str, str, str]:
    """Return the arguments of EVAL that count a change of the topic and wake those who wait for it."""
    return _TOUCH, 1, topic_key(topic), payload, early_order_channel(topic)


def notify_change(*topics: str, payloads: Mapping[str, str] = NO_PAYLOADS) -> None:
    """Wake everyone who waits for these topics (`host:<hex>`, `user:<hex>`), after the commit.

    A topic's slip reaches those who wait at that moment and is not stored: it is a hint at what the change is.
    """
    transaction.on_commit(lambda: _notify_change_now(topics, payloads))


def _notify_change_now(topics: tuple[str, ...], payloads: Mapping[str, str] = NO_PAYLOADS) -> None:
    try:
        pipe = _client().pipeline(transaction=False)
        for topic in topics:
            pipe.eval(*touch_command(topic, payloads.get(topic, "")))
        pipe.execute()
        _warned.clear()
    except redis.RedisError:
        _warn_once("topics %s not touched: Redis is unreachable; waiters look again by themselves", topics)


def revoke_tickets(topic: str, *, at: datetime, over: bool = False) -> None:
    """Make the relay refuse older tickets of this topic and cut their streams, after the commit.

    Tickets issued before `at` are refused. With `over`, the topic continues under new tickets. The entry is kept
    for a day, for a relay that starts meanwhile.
    """
    words = f"{int(at.timestamp())} {int(over)}"
    transaction.on_commit(lambda: _end_now(topic, words))


def _end_now(topic: str, words: str) -> None:
    try:
        pipe = _client().pipeline(transaction=False)
        pipe.set(f"{ENDED_PREFIX}{topic}", words, ex=_ENDED_KEPT_S)
        pipe.publish(f"{ENDED_PREFIX}{topic}", words)
        pipe.execute()
        _warned.clear()
    except redis.RedisError:
        _warn_once("the relay was not told of the end of %s: Redis is unreachable; its tickets end by themselves", topic)


def _warn_once(text: str, about: object) -> None:
    """Log the first loss of its kind in this process since Redis last answered: a restore wakes each host."""
    log = logger.debug if text in _warned else logger.warning
    log(text, about)
    _warned.add(text)


def version_of(topic: str) -> int:
    """Return the topic's present counter, or 0 when Redis does not know it or cannot be reached."""
    try:
        return int(_client().get(topic_key(topic)) or 0)
    except redis.RedisError:
        return 0
