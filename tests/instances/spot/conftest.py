"""A host with a spot market, two funded bidders, and the books checked behind every test."""

from collections.abc import Iterator

import pytest

from accounts.models import User
from billing.audit.selectors import ledger_findings
from instances.enforcement.sweeps import compare_leases
from marketplace.hosts.offers import check_offers
from tests.billing.money import UNIT, grant
from tests.instances.fake_host import FakeHost
from tests.instances.fixtures import Clock, host, hours, image, rin
from tests.instances.spot.bidders import with_spot

__all__ = ["host", "hours", "image", "rin"]


@pytest.fixture
def spot(host: FakeHost) -> FakeHost:
    """Four GPUs, 3.60 by the hour, spot from 0.50."""
    return with_spot(host)


@pytest.fixture
def bo(hours: Clock, bob: User) -> User:
    """Another renter with 1,000.00."""
    grant(bob, 1000 * UNIT)
    return bob


@pytest.fixture
def sound(db: None) -> Iterator[None]:
    """Whatever a test has done, money, offers and leases agree at its end."""
    yield
    assert ledger_findings() == []
    assert check_offers(repair=False) == []
    assert compare_leases() == 0
