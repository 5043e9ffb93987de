"""Connections to Redis that fail at once.

By default redis-py retries with pauses of seconds while a request waits.
"""

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

NO_RETRY = Retry(NoBackoff(), 0)


def connect(*, timeout_s: float) -> redis.Redis:
    """Return a client of the market's Redis, shared by threads.

    Each command takes at most `timeout_s`, or raises RedisError.
    """
    return connect_to(settings.REDIS_URL, timeout_s=timeout_s)


def connect_to(url: str, *, timeout_s: float) -> redis.Redis:
    """Return such a client of any Redis.

    Raises:
        ValueError: the URL is not an address of Redis.
    """
    return redis.Redis.from_url(url, socket_timeout=timeout_s, socket_connect_timeout=timeout_s, retry=NO_RETRY)
