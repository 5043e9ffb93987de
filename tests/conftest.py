"""The cast: alice and bob rent, hana owns hosts, mallory is a stranger, stella is staff."""

import gc
from collections.abc import Generator, Iterator

import pytest
from django.utils import translation
from hypothesis import settings

from accounts.models import User
from marketplace.search.index import snapshot
from tests.roles import work_as_the_market
from tests.wiping import wipe_after_each_test

PASSWORD = "correct-horse-battery"

# How long one example takes is a matter of who else uses the machine.
settings.register_profile("berth", settings.get_profile(settings.get_current_profile_name()), deadline=None)
settings.load_profile("berth")
work_as_the_market()
wipe_after_each_test()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Millions of objects are made here that all stay. Python would look through them for garbage again and again, meanwhile
    and during the tests: a tenth of a run's processor time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(5_000, 10, 10)  # the full passes would come sooner, now that hardly anything counts as old
        gc.enable()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(services: None, django_db_modify_db_settings: None) -> None:
    """Have PostgreSQL started by the first test that asks for a database."""


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.create_user("alice@example.com", PASSWORD, display_name="Alice")


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create_user("bob@example.com", PASSWORD, display_name="Bob")


@pytest.fixture
def hana(db: None) -> User:
    return User.objects.create_user("hana@example.com", PASSWORD, display_name="Hana", is_host_owner=True)


@pytest.fixture
def mallory(db: None) -> User:
    return User.objects.create_user("mallory@example.com", PASSWORD, display_name="Mallory")


@pytest.fixture
def stella(db: None) -> User:
    return User.objects.create_superuser("stella@example.com", PASSWORD, display_name="Stella")


@pytest.fixture(autouse=True)
def market_forgotten() -> Iterator[None]:
    """Each test has a table of its own, so the copy of the last one's must not be asked about it."""
    snapshot.reset_snapshot()
    yield
    snapshot.reset_snapshot()


@pytest.fixture(autouse=True)
def language_forgotten() -> Iterator[None]:
    """A request leaves its reader's language active in its thread, which here is the next test's too."""
    yield
    translation.deactivate()
