"""The victims' world, built once for a file, and counters that start at nought."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction
from pytest_django import DjangoDbBlocker

from accounts.models import User
from accounts.web.throttling import request_counter
from tests.api.world import World, build_world
from tests.conftest import PASSWORD


@pytest.fixture(autouse=True)
def no_old_counts() -> Iterator[None]:
    cache.clear()
    request_counter.cache_clear()
    yield


@pytest.fixture(scope="module")
def shared_world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    block: Any = transaction.atomic()
    block._from_testcase = True  # lets use cases be outermost in it, as Django's own test transactions do
    with django_db_blocker.unblock(), block:
        renter = User.objects.create_user("ada@example.com", PASSWORD, display_name="Ada")
        owner = User.objects.create_user("olaf@example.com", PASSWORD, display_name="Olaf", is_host_owner=True)
        yield build_world(renter, owner)
        transaction.set_rollback(True)


@pytest.fixture
def world(shared_world: World, db: None) -> World:
    """As it was built, whatever the test before has done to it."""
    return shared_world
