"""How many requests a minute: counted in each process, settled with Redis in small steps."""

import logging
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

import redis
from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.models import ApiToken
from common import clock
from common.redis_client import connect

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which imports this module through its defaults

logger = logging.getLogger(__name__)

WINDOW_S = 60
# A process asks Redis once for each hundredth of the quota, so the total may exceed it by 1 % for each process.
STEPS = 100
# After a failure requests are counted in the process alone for this long, so that none waits for a dead Redis.
MUTE_S = 5


@dataclass(frozen=True)
class Rate:
    """How far a request's asker is into the quota of this window."""

    policy: str
    quota: int
    used: int
    resets_in_s: int

    @property
    def exceeded(self) -> bool:
        return self.used > self.quota

    def headers(self) -> dict[str, str]:
        """`RateLimit` and `RateLimit-Policy` as the IETF draft writes them."""
        left = max(0, self.quota - self.used)
        return {
            "RateLimit-Policy": f'"{self.policy}";q={self.quota};w={WINDOW_S}',
            "RateLimit": f'"{self.policy}";r={left};t={self.resets_in_s}',
        }


@dataclass
class _Share:
    """One asker's requests: all processes' total when last settled, and this process's since."""

    total: int = 0
    since: int = 0
    settled: bool = False


class RequestCounter:
    """Counts of the present window. Threads share one; a redis round trip happens outside the lock."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._lock = Lock()
        self._window = 0
        self._shares: dict[str, _Share] = {}
        self._muted_until = 0.0

    def count(self, asker: str, *, quota: int, at: float) -> int:
        """Count one request and return the asker's requests in the window so far."""
        window = int(at) // WINDOW_S
        with self._lock:
            if window != self._window:
                self._window, self._shares = window, {}
            share = self._shares.setdefault(asker, _Share())
            share.since += 1
            due = (not share.settled or share.since >= max(1, quota // STEPS)) and at >= self._muted_until
            if not due:
                return share.total + share.since
            amount, share.since, share.settled = share.since, 0, True
        self._settle(share, f"rate:{asker}:{window}", amount, at)
        return share.total + share.since

    def _settle(self, share: _Share, key: str, amount: int, at: float) -> None:
        try:
            pipe = self._client.pipeline(transaction=False)
            pipe.incrby(key, amount)
            pipe.expire(key, 2 * WINDOW_S)
            share.total = max(share.total, int(pipe.execute()[0]))
        except redis.RedisError:
            logger.warning("requests are counted in this process alone: Redis is unreachable")
            self._muted_until = at + MUTE_S
            share.total += amount


class RequestRate(BaseThrottle):
    """Quotas from settings; the counted Rate stays on the request for the lane, which writes the headers.

    The quota protects capacity, not secrets: login has limits of its own.
    """

    def allow_request(self, request: Request, view: "APIView") -> bool:
        policy, asker = self._asker(request)
        quota = settings.API_RATE_USER if policy == "account" else settings.API_RATE_ANONYMOUS
        at = clock.now().timestamp()
        used = request_counter().count(asker, quota=quota, at=at)
        self.rate = Rate(policy=policy, quota=quota, used=used, resets_in_s=WINDOW_S - int(at) % WINDOW_S)
        request._request.rate = self.rate  # type: ignore[attr-defined]  # read by config.lane
        return not self.rate.exceeded

    def wait(self) -> float:
        return float(self.rate.resets_in_s)

    def _asker(self, request: Request) -> tuple[str, str]:
        if isinstance(request.auth, ApiToken):
            return "account", f"token:{request.auth.pk.hex}"
        if request.user and request.user.is_authenticated:
            return "account", f"user:{request.user.pk.hex}"
        return "address", f"address:{self.get_ident(request)}"


@cache
def request_counter() -> RequestCounter:
    """This process's counter."""
    return RequestCounter(connect(timeout_s=0.5))
