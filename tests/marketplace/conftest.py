"""A host of hana's with two GPUs, and its offer."""

import pytest

from accounts.models import User
from marketplace.models import Host, Offer
from tests.marketplace.shapes import enrolled, offer_of


@pytest.fixture
def host(hana: User) -> Host:
    return enrolled(hana)


@pytest.fixture
def offer(host: Host) -> Offer:
    return offer_of(host)
