"""The cast: alice and bob rent, hana owns hosts, mallory is a stranger, stella is staff."""

import pytest

from accounts.models import User

PASSWORD = "correct-horse-battery"


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
