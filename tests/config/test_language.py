"""That mail is written in the language in which its reader last used the pages."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User


@pytest.fixture
def reader(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def read(reader: Client, language: str, path: str = "/wallet/budgets") -> None:
    reader.get(path, headers={"accept-language": language})


def test_the_language_of_the_last_page_is_noted(reader: Client, alice: User) -> None:
    for language in ("zh-hans", "en"):
        read(reader, language)
        alice.refresh_from_db()
        assert alice.language == language


def test_nothing_is_written_while_it_stays_the_same(reader: Client) -> None:
    read(reader, "en")
    with CaptureQueriesContext(connection) as queries:
        read(reader, "en")
    assert not [query for query in queries if query["sql"].startswith("UPDATE")]


def test_a_program_has_no_language(reader: Client, alice: User) -> None:
    read(reader, "zh-hans", "/api/v1/me")
    alice.refresh_from_db()
    assert alice.language == "en"
