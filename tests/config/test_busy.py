"""A database that does not answer in time is a typed 503 on every way in, and nothing of the request is done."""

from collections.abc import Iterator

import psycopg2
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import Client

from accounts.constants import SCOPES
from accounts.models import Team, User
from accounts.tokens.services import issue_token
from config.timeouts import broker_options, connection_options

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def lock() -> Iterator[psycopg2.extensions.cursor]:
    """Somebody else's session, whose locks last until the test is over; ours gives up soon."""
    params = connection.get_connection_params()
    rival = psycopg2.connect(
        **{name: params[name] for name in ("dbname", "user", "password", "host", "port") if name in params}
    )
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 100")
    try:
        with rival.cursor() as cursor:
            yield cursor
    finally:
        rival.rollback()
        rival.close()
        connection.close()


def by_token(user: User) -> Client:
    _, text = issue_token(user=user, name="x", scopes=list(SCOPES))
    return Client(raise_request_exception=False, headers={"authorization": f"Bearer {text}"})


def by_session(user: User, language: str = "en") -> Client:
    client = Client(raise_request_exception=False, headers={"accept-language": language})
    client.force_login(user)
    return client


def test_a_locked_table_is_a_busy_problem(alice: User, lock: psycopg2.extensions.cursor) -> None:
    client = by_token(alice)
    lock.execute("LOCK TABLE billing_wallet IN ACCESS EXCLUSIVE MODE")
    reply = client.get("/api/v1/wallet")
    assert (reply.status_code, reply.json()["code"]) == (503, "busy")
    assert int(reply.headers["Retry-After"]) > 0
    lock.connection.rollback()
    assert client.get("/api/v1/wallet").status_code == 200


@pytest.mark.parametrize(("language", "words"), [("en", "Try again in a few seconds"), ("zh-hans", "请几秒后重试")])
def test_a_locked_table_is_a_page_that_says_so(
    alice: User, lock: psycopg2.extensions.cursor, language: str, words: str
) -> None:
    client = by_session(alice, language)
    lock.execute("LOCK TABLE billing_wallet IN ACCESS EXCLUSIVE MODE")
    reply = client.get("/wallet")
    assert (reply.status_code, words in reply.content.decode()) == (503, True)
    assert int(reply.headers["Retry-After"]) > 0
    part = client.get("/wallet", headers={"HX-Request": "true"})
    assert (part.status_code, part.headers["HX-Retarget"]) == (503, "#toasts")


def test_a_locked_session_is_one_too(alice: User, lock: psycopg2.extensions.cursor) -> None:
    """What a middleware asks fails outside every view."""
    client = by_session(alice)
    lock.execute("LOCK TABLE django_session, accounts_user IN ACCESS EXCLUSIVE MODE")
    assert client.get("/wallet").status_code == 503
    assert client.get("/api/v1/wallet").json()["code"] == "busy"


def test_what_was_begun_is_not_done(alice: User, lock: psycopg2.extensions.cursor) -> None:
    client = by_token(alice)
    lock.execute("LOCK TABLE accounts_membership IN SHARE ROW EXCLUSIVE MODE")
    reply = client.post("/api/v1/teams", {"name": "half"}, content_type="application/json")
    assert (reply.status_code, reply.json()["code"]) == (503, "busy")
    assert not Team.objects.exists()


def test_a_statement_that_takes_too_long_is_busy_too(alice: User, lock: psycopg2.extensions.cursor) -> None:
    client = by_token(alice)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 0; SET statement_timeout = 100")
    lock.execute("LOCK TABLE billing_wallet IN ACCESS EXCLUSIVE MODE")
    assert client.get("/api/v1/wallet").json()["code"] == "busy"


@pytest.mark.parametrize(("process", "statement", "lock_ms"), [("web", 15, 3), ("jobs", 110, 5), ("maintenance", 0, 5)])
def test_each_process_has_its_own_patience(
    monkeypatch: pytest.MonkeyPatch, process: str, statement: int, lock_ms: int
) -> None:
    monkeypatch.setenv("BERTH_PROCESS", process)
    params = connection.get_connection_params()
    wanted = {name: params[name] for name in ("dbname", "user", "password", "host", "port") if name in params}
    with psycopg2.connect(**wanted, **connection_options()) as session, session.cursor() as cursor:
        cursor.execute("SELECT name, setting::bigint / 1000 FROM pg_settings WHERE name LIKE '%_timeout'")
        found = dict(cursor.fetchall())
    session.close()
    assert (found["statement_timeout"], found["lock_timeout"]) == (statement, lock_ms)
    assert found["idle_in_transaction_session_timeout"] > 0
    assert broker_options()["socket_timeout"] == (2 if process == "web" else 10)


def test_an_unknown_process_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTH_PROCESS", "cron")
    with pytest.raises(ImproperlyConfigured, match="web, jobs, maintenance"):
        connection_options()
