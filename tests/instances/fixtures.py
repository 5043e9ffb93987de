"""Fixtures of everything that needs a host and a renter with money."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
import time_machine
from django.test import Client

from accounts.constants import SCOPES
from accounts.models import User
from accounts.tokens.services import issue_token
from storage.models import Image
from tests.billing.money import START, UNIT, grant
from tests.instances.fake_host import FakeHost, base_image

Sign = Callable[..., Client]


class Clock:
    """A clock that obeys."""

    def __init__(self, traveller: time_machine.Traveller) -> None:
        self._traveller = traveller

    def advance(self, **span: float) -> None:
        self._traveller.shift(timedelta(**span))


@pytest.fixture
def hours() -> Iterator[Clock]:
    """The clock, stopped at START."""
    with time_machine.travel(START, tick=False) as traveller:
        yield Clock(traveller)


@pytest.fixture
def image(db: None) -> Image:
    return base_image()


@pytest.fixture
def host(hours: Clock, hana: User, image: Image) -> FakeHost:
    """Four GPUs at 3.60 an hour each."""
    return FakeHost(hana)


@pytest.fixture
def rin(hours: Clock, alice: User) -> User:
    """A renter with 1,000.00."""
    grant(alice, 1000 * UNIT)
    return alice


@pytest.fixture
def sign() -> Sign:
    """A client with a token of this user: all scopes, or those named."""

    def make(user: User, *scopes: str) -> Client:
        _, text = issue_token(user=user, name="test", scopes=scopes or list(SCOPES))
        return Client(headers={"authorization": f"Bearer {text}"})

    return make
