"""Rate counters per time window: counted in each process, and synchronised with Redis in small steps."""

import logging
from dataclasses import dataclass
from threading import Lock
from typing import Final

import redis

logger = logging.getLogger(__name__)

WINDOW_S: Final = 60
# A process synchronises with Redis after each hundredth of the quota, so each process may exceed the total by 1 %.
STEPS: Final = 100
# After a failure, requests are counted only in the process for this long, so that none waits for an unreachable
# Redis.
MUTE_S: Final = 5


@dataclass
class _Share:
    """One requester's count: the total of all processes when last synchronised, and this one's since."""

    total: int = 0
    since: int = 0
    settled: bool = False


class RequestCounter:
    """Counts in the present window, shared by threads; a Redis round trip happens outside the lock."""

    def __init__(self, client: redis.Redis, *, window_s: int = WINDOW_S) -> None:
        self._client = client
        self._window_s = window_s
        self._lock = Lock()
        self._window = 0
        self._shares: dict[str, _Share] = {}
        self._muted_until = 0.0

    def count(self, asker: str, *, quota: int, at: float, by: int = 1) -> int:
        """Count one request (-1 takes one back) and return the requester's requests in the window so far."""
        window = int(at) // self._window_s
        with self._lock:
            share = self._share(asker, window)
            share.since += by
            due = (not share.settled or abs(share.since) >= max(1, quota // STEPS)) and at >= self._muted_until
            if not due:
                return share.total + share.since
            amount, share.since, share.settled = share.since, 0, True
        self._settle(share, f"rate:{asker}:{window}", amount, at)
        return share.total + share.since

    def known(self, asker: str, *, at: float) -> int:
        """Return what this process knows of the count, without counting and without a request to Redis."""
        with self._lock:
            share = self._share(asker, int(at) // self._window_s)
            return share.total + share.since

    def left_s(self, *, at: float) -> int:
        """Return the seconds until the window ends."""
        return self._window_s - int(at) % self._window_s

    def _share(self, asker: str, window: int) -> _Share:
        """Return the requester's share of this window; the caller has taken the lock."""
        if window != self._window:
            self._window, self._shares = window, {}
        return self._shares.setdefault(asker, _Share())

    def _settle(self, share: _Share, key: str, amount: int, at: float) -> None:
        try:
            pipe = self._client.pipeline(transaction=False)
            pipe.incrby(key, amount)
            pipe.expire(key, 2 * self._window_s)
            share.total = max(share.total, int(pipe.execute()[0]))
        except redis.RedisError:
            logger.warning("requests are counted in this process alone: Redis is unreachable")
            self._muted_until = at + MUTE_S
            share.total += amount
