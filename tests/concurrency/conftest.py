"""What the races for instances run with: an image, and a renter whose money is not what they are about."""

import pytest

from accounts.models import User
from storage.models import Image
from tests.billing.money import UNIT, grant
from tests.instances.fake_host import base_image


@pytest.fixture
def image(db: None) -> Image:
    return base_image()


@pytest.fixture
def rich(alice: User) -> User:
    grant(alice, 100_000 * UNIT)
    return alice
