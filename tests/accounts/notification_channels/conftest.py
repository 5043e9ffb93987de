"""Services that listen on this machine, and a client of the API."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from tests.accounts.notification_channels.vendors import Vendors, listening

Bearer = Callable[..., Client]


@pytest.fixture
def vendors(settings: Any) -> Iterator[Vendors]:
    settings.OUTBOUND_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with listening() as services:
        yield services


@pytest.fixture
def api(alice: User, bearer: Bearer) -> Client:
    return bearer(alice)
