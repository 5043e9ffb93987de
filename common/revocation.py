"""Publishes ended credentials to the relay through Redis; it refuses their tickets.

Redis is only a hint here too: a sweep writes the same again from PostgreSQL (accounts.end_access).
"""

import logging
from collections.abc import Mapping
from functools import cache
from typing import Final

import redis
from django.db import transaction

from common.redis_client import connect

logger = logging.getLogger(__name__)

KEY: Final = "ended"  # a sorted set: name → Unix second from which no ticket depends on it any more; also a channel's name


def publish_ended(names: Mapping[str, int]) -> None:
    """Publish ended credentials after the transaction commits.

    `names` maps each to the time (Unix seconds) until which tickets could still be shown.
    """
    transaction.on_commit(lambda: publish_ended_now(names))


def publish_ended_now(names: Mapping[str, int]) -> None:
    if not names:
        return
    try:
        pipe = _client().pipeline(transaction=False)
        pipe.zadd(KEY, dict(names))
        for name, until in names.items():
            pipe.publish(KEY, f"{until} {name}")
        pipe.execute()
    except redis.RedisError:
        logger.warning(
            "the relay was not told of %d ended credentials: Redis is unreachable; the sweep tells it", len(names)
        )


def delete_ended(*, before: int) -> None:
    """Delete entries that no ticket depends on any more."""
    try:
        _client().zremrangebyscore(KEY, "-inf", before)
    except redis.RedisError:
        logger.warning("ended credentials were not dropped: Redis is unreachable")


@cache
def _client() -> redis.Redis:
    return connect(timeout_s=1)
