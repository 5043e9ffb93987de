"""A client with a bearer token, and counters that start at nought."""

from collections.abc import Callable, Iterator

import pytest
from django.core.cache import cache
from django.test import Client

from accounts.constants import SCOPES
from accounts.models import User
from accounts.tokens.services import issue_token
from accounts.web.throttling import guess_counter, request_counter

Bearer = Callable[..., Client]


@pytest.fixture(autouse=True)
def no_old_counts() -> Iterator[None]:
    cache.clear()
    request_counter.cache_clear()
    guess_counter.cache_clear()
    yield
    cache.clear()


@pytest.fixture
def bearer() -> Bearer:
    """`bearer(user, "keys:read")`: a client whose requests carry a new token with these scopes (all when none is named)."""

    def make(user: User, *scopes: str) -> Client:
        _, text = issue_token(user=user, name="test", scopes=scopes or list(SCOPES))
        return Client(headers={"authorization": f"Bearer {text}"})

    return make
