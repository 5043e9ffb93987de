"""Limits of requests per minute, and of requests with invalid tokens."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings
from django.http import HttpRequest
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.models import ApiToken, User
from common import clock
from common.errors import TooOften
from common.http.origin import address_of, network_of, origin
from common.rate_counters import WINDOW_S, RequestCounter
from common.redis_client import connect

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from rest_framework.views import APIView  # which imports this module through its defaults


@dataclass(frozen=True)
class Rate:
    """Used part of the requester's quota in this window."""

    policy: str
    quota: int
    used: int
    resets_in_s: int

    @property
    def exceeded(self) -> bool:
        return self.used > self.quota

    def headers(self) -> dict[str, str]:
        """Return `RateLimit` and `RateLimit-Policy` as in the IETF draft."""
        left = max(0, self.quota - self.used)
        return {
            "RateLimit-Policy": f'"{self.policy}";q={self.quota};w={WINDOW_S}',
            "RateLimit": f'"{self.policy}";r={left};t={self.resets_in_s}',
        }


class RequestRate(BaseThrottle):
    """Quota of requests from the settings; the counted Rate stays on the request for the response headers.

    The quota protects capacity, not secrets: log-in has limits of its own. Public views, such as searches, read no
    token and count every request by its network.
    """

    def allow_request(self, request: Request, view: "APIView") -> bool:
        policy, asker = self._requester(request)
        quota, at = _quota(policy), clock.now().timestamp()
        used = request_counter().count(asker, quota=quota, at=at)
        self.rate = Rate(policy=policy, quota=quota, used=used, resets_in_s=WINDOW_S - int(at) % WINDOW_S)
        request._request.rate = self.rate  # type: ignore[attr-defined]  # read by config.middleware.api_fast_path
        return not self.rate.exceeded

    def wait(self) -> float:
        return float(self.rate.resets_in_s)

    def _requester(self, request: Request) -> tuple[str, str]:
        if isinstance(request.auth, ApiToken):
            return "account", f"token:{request.auth.pk.hex}"
        return _visitor(request._request, request.user)


def _visitor(request: HttpRequest, user: "User | AnonymousUser | None") -> tuple[str, str]:
    """Return the policy for who asks without a token, and what they are counted as."""
    if user and user.is_authenticated:
        return "account", f"user:{user.pk.hex}"
    return "address", f"address:{network_of(address_of(request))}"


def _quota(policy: str) -> int:
    quota: int = settings.API_RATE_USER if policy == "account" else settings.API_RATE_ANONYMOUS
    return quota


def check_page_search(request: HttpRequest) -> None:
    """Count a search on a page, which is not counted with the API's requests, by the same quotas.

    Raises:
        TooOften: the user, or the network of a visitor without an account, has reached the quota.
    """
    policy, asker = _visitor(request, request.user)
    quota, at, counter = _quota(policy), clock.now().timestamp(), request_counter()
    if counter.count(f"page:{asker}", quota=quota, at=at) > quota:
        raise TooOften(f"At most {quota} searches a minute.", wait=counter.left_s(at=at))


@cache
def request_counter() -> RequestCounter:
    """Return this process's counter of requests."""
    return RequestCounter(connect(timeout_s=0.5))


def check_guesses() -> None:
    """Refuse an address with too many invalid tokens, before the database is queried.

    Raises:
        Throttled: the limit is reached.
    """
    at, counter = clock.now().timestamp(), guess_counter()
    if counter.known(_guesser(), at=at) >= settings.API_RATE_FAILED:
        raise Throttled(wait=counter.left_s(at=at))


def count_guess() -> None:
    """Count a request with an invalid token."""
    guess_counter().count(_guesser(), quota=settings.API_RATE_FAILED, at=clock.now().timestamp())


def _guesser() -> str:
    return f"guess:{network_of(origin().address)}"


@cache
def guess_counter() -> RequestCounter:
    """Return this process's counter of invalid tokens."""
    return RequestCounter(connect(timeout_s=0.5))
