"""How many requests a minute, and how many with a token that is none."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.models import ApiToken
from common import clock
from common.http.origin import network_of, origin
from common.rate_counters import WINDOW_S, RequestCounter
from common.redis_client import connect

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which imports this module through its defaults


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
        request._request.rate = self.rate  # type: ignore[attr-defined]  # read by config.middleware.api_fast_path
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


def check_guesses() -> None:
    """Refuse an address that has shown too many wrong tokens, before the database is asked. Raises Throttled."""
    at, counter = clock.now().timestamp(), guess_counter()
    if counter.known(_guesser(), at=at) >= settings.API_RATE_FAILED:
        raise Throttled(wait=counter.left_s(at=at))


def count_guess() -> None:
    """A wrong token was shown."""
    guess_counter().count(_guesser(), quota=settings.API_RATE_FAILED, at=clock.now().timestamp())


def _guesser() -> str:
    return f"guess:{network_of(origin().address)}"


@cache
def guess_counter() -> RequestCounter:
    """This process's counter of wrong tokens."""
    return RequestCounter(connect(timeout_s=0.5))
