"""Connections to Redis that give up at once: by default redis-py retries with seconds of pauses while a request waits."""

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

NO_RETRY = Retry(NoBackoff(), 0)


def connect(*, timeout_s: float) -> redis.Redis:
    """A client of the market's Redis, shared by threads; each command takes at most `timeout_s`, or raises RedisError."""
    return connect_to(settings.REDIS_URL, timeout_s=timeout_s)


def connect_to(url: str, *, timeout_s: float) -> redis.Redis:
    """The same of any Redis. Raises ValueError for what is no address of one."""
    return redis.Redis.from_url(url, socket_timeout=timeout_s, socket_connect_timeout=timeout_s, retry=NO_RETRY)
