"""Stored launch settings: secrets are sealed, and PostgreSQL refuses what the settings would."""

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from accounts.models import User
from instances.launch.settings import EMPTY, LaunchSettings, validate
from instances.launch.store import launch_resource, save_launch, secrets_of, settings_of
from instances.models import Launch

PLANTED = "s3cret-planted"
FULL = {
    "env": {"A": "1"},
    "secrets": {"TOKEN": PLANTED},
    "command": ["sleep", "1"],
    "user": "1000",
    "shm_mb": 64,
    "on_start": "echo",
    "readiness": {"port": 80},
}


@pytest.fixture
def settings_given() -> LaunchSettings:
    return validate(FULL)


def test_what_is_stored_comes_back(alice: User, settings_given: LaunchSettings) -> None:
    saved = save_launch(alice, settings_given)
    assert saved is not None
    again = Launch.objects.get(pk=saved.pk)
    assert settings_of(again) == settings_given
    assert secrets_of(again) == {"TOKEN": PLANTED}


def test_nothing_is_stored_for_empty_settings(alice: User) -> None:
    assert save_launch(alice, EMPTY) is None
    assert settings_of(None) == EMPTY
    assert launch_resource(None) is None


def test_the_row_has_no_secret_in_the_clear(alice: User, settings_given: LaunchSettings) -> None:
    saved = save_launch(alice, settings_given)
    assert saved is not None
    with connection.cursor() as cursor:
        cursor.execute("SELECT convert_from(sealed_secrets, 'UTF8'), l::text FROM instances_launch l")
        assert PLANTED not in "".join(cursor.fetchone())
    assert PLANTED not in str(launch_resource(saved))
    assert launch_resource(saved) is not None
    assert launch_resource(saved) == settings_given.public_resource()


@pytest.mark.parametrize(
    "columns",
    [
        {"env": []},
        {"env": {"A": "x" * 1_100_000}},
        {"secret_names": {}},
        {"command": {}},
        {"command": ["x"] * 257},
        {"workdir": "relative"},
        {"shm_mb": 0},
        {"shm_mb": 70_000},
        {"on_start": "x" * 65_537},
        {"readiness": []},
        {"digest": "x"},
        {"sealed_secrets": b"x"},
        {"secrets_digest": "0" * 64},
        {"sealed_secrets": b"x" * 1_100_000, "secrets_digest": "0" * 64},
    ],
)
def test_postgresql_refuses_it(alice: User, columns: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Launch.objects.create(**{"renter": alice, "digest": "0" * 64, **columns})
