"""What an account's owner is told: the log that nobody can change, mail about what matters, sessions and their ends."""

import csv
import io
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.core import mail
from django.db import DatabaseError, connection, transaction
from django.test import Client

from accounts.constants import EVENT_KINDS, SESSION_IDLE, SESSION_LONGEST
from accounts.event_log.messages import TITLES
from accounts.mail.outbox import send_mails
from accounts.models import AccountEvent, AccountSession, ApiToken, OutgoingMail, User
from accounts.selectors import live_token
from accounts.tokens.services import issue_token
from accounts.users.profile import add_person
from common import clock
from common.ids import public_id
from tests.roles import as_owner
from tests.web.world import KEY

Bearer = Callable[..., Client]
PASSWORD = "correct-horse-battery"
NEW_PASSWORD = "another-horse-battery-9"
NOON = 1_800_000_000.0
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture
def kim(db: None) -> User:
    return add_person(email="kim@example.com", password=PASSWORD)


def browser(address: str = "192.0.2.1", agent: str = FIREFOX) -> Client:
    return Client(REMOTE_ADDR=address, headers={"user-agent": agent})


def sign_in(client: Client, password: str = PASSWORD) -> str:
    reply = client.post("/accounts/login/", {"login": "kim@example.com", "password": password})
    return str(reply.headers.get("Location", ""))


def is_in(client: Client) -> bool:
    return client.get("/api/v1/me").status_code == 200


def kinds(user: User) -> list[str]:
    return list(AccountEvent.objects.filter(user=user).order_by("at", "id").values_list("kind", flat=True))


def mails() -> list[mail.EmailMessage]:
    """Those that left just now."""
    mail.outbox.clear()
    send_mails(now=clock.now())
    return list(mail.outbox)


def test_each_kind_has_its_words() -> None:
    assert set(EVENT_KINDS) == set(TITLES)


def test_log_ins_are_noted_with_address_and_device(kim: User) -> None:
    sign_in(browser(), "wrong-password")
    sign_in(browser())
    failed, login = AccountEvent.objects.filter(user=kim).order_by("at")
    assert (failed.kind, failed.address, failed.via) == ("login.failed", "192.0.2.1", "")
    assert (login.kind, login.address, login.via, login.agent) == ("login", "192.0.2.1", "console", FIREFOX)


def test_a_failed_log_in_of_nobody_is_noted_like_any_other(kim: User) -> None:
    Client().post("/accounts/login/", {"login": "nobody@example.com", "password": "wrong"})
    event = AccountEvent.objects.get()
    assert (event.kind, event.user_id, event.subject) == ("login.failed", None, "")


def test_a_log_in_from_a_new_device_is_mailed_and_a_known_one_is_not(kim: User) -> None:
    home = browser()
    sign_in(home)
    assert mails() == [], "the first one is their own"
    home.post("/accounts/logout/")
    sign_in(home)
    assert mails() == []
    sign_in(browser("198.51.100.7"))
    (sent_mail,) = mails()
    assert sent_mail.to == ["kim@example.com"]
    assert "new device" in sent_mail.subject
    assert "198.51.100.7" in sent_mail.body
    assert "Firefox on Linux" in str(sent_mail.body)


def test_tokens_and_keys_are_mailed_whoever_makes_them(kim: User, bearer: Bearer) -> None:
    client = browser()
    client.force_login(kim)
    client.post("/settings/tokens", {"name": "ci http://evil.example", "scopes": ["keys:read"], "lifetime": "30"})
    client.post("/settings/ssh-keys", {"public_key": KEY, "name": "laptop"})
    token, key = mails()
    assert (token.subject, key.subject) == (
        "Your account: API token created",
        "Your account: SSH key added",
    )
    assert "evil.example" not in str(token.body)
    program = bearer(kim, "tokens:write")
    mails()
    body = json.dumps({"name": "child", "scopes": ["tokens:write"]})
    assert program.post("/api/v1/tokens", body, content_type="application/json").status_code == 201
    assert [message.subject for message in mails()] == ["Your account: API token created"]
    made = AccountEvent.objects.filter(kind="token.created").order_by("-at").first()
    assert made is not None
    assert made.via.startswith("token berth_")


def test_after_a_change_of_address_the_old_one_is_told_too(kim: User) -> None:
    AccountEvent.objects.create(user=kim, kind="email.changed", subject="old@example.com")
    User.objects.filter(pk=kim.pk).update(email="new@example.com")
    issue_token(user=kim, name="x", scopes=["keys:read"])
    assert sorted(message.to[0] for message in mails()) == ["new@example.com", "old@example.com"]


@pytest.mark.parametrize("server", [OSError("away"), ValueError("bad")])
def test_mail_is_tried_again_until_it_leaves(kim: User, monkeypatch: pytest.MonkeyPatch, server: Exception) -> None:
    def refuse(*_args: object, **_options: object) -> None:
        raise server

    issue_token(user=kim, name="x", scopes=["keys:read"])
    with monkeypatch.context() as broken:
        broken.setattr("common.mail.mail.EmailMessage.send", refuse)
        assert send_mails(now=clock.now()) == 0
    assert send_mails(now=clock.now()) == 0, "claimed by the one that failed"
    assert send_mails(now=clock.now() + timedelta(minutes=3)) == 1
    assert not OutgoingMail.objects.exclude(body="").exists(), "a body may hold a link that lets someone in"


def test_the_second_factor_is_noted(kim: User) -> None:
    client = browser()
    sign_in(client)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    TOTP.activate(kim, generate_totp_secret())
    client.post("/accounts/2fa/totp/deactivate/")
    assert kinds(kim)[-1] == "factor.removed"
    assert any("eactivat" in str(message.subject) for message in mails())


@pytest.mark.parametrize("statement", ["UPDATE accounts_accountevent SET kind = 'x'", "DELETE FROM accounts_accountevent"])
def test_the_database_refuses_to_change_the_log(kim: User, statement: str) -> None:
    sign_in(browser())
    with pytest.raises(DatabaseError, match="permission denied"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    refused = pytest.raises(DatabaseError, match="append-only")
    with as_owner(), connection.cursor() as cursor, refused, transaction.atomic():
        cursor.execute(statement)
    assert kinds(kim) == ["login"]


@pytest.mark.django_db(transaction=True)
def test_the_database_refuses_to_empty_the_log() -> None:
    with pytest.raises(DatabaseError, match="append-only"), as_owner(), connection.cursor() as cursor:
        cursor.execute("TRUNCATE accounts_accountevent")


# -- sessions


def test_sessions_are_listed_and_one_is_ended(kim: User) -> None:
    here, there = browser(), browser("198.51.100.7", "curl/8.5")
    sign_in(here)
    sign_in(there)
    page = here.get("/settings/security").content.decode()
    for words in ("Firefox on Linux", "curl", "198.51.100.7", "this browser"):
        assert words in page
    other = AccountSession.objects.get(address="198.51.100.7")
    assert here.post(f"/settings/security/sessions/{public_id('sess', other.pk)}/end").status_code == 302
    assert (is_in(here), is_in(there)) == (True, False)


def test_nobody_ends_anothers_session(kim: User, mallory: User) -> None:
    mine = browser()
    sign_in(mine)
    other_client = Client()
    other_client.force_login(mallory)
    session = AccountSession.objects.get(user=kim)
    other_client.post(f"/settings/security/sessions/{public_id('sess', session.pk)}/end")
    assert is_in(mine)


@pytest.mark.parametrize("tokens", [True, False])
def test_logging_out_everywhere_needs_the_password_and_leaves_this_browser(kim: User, tokens: bool) -> None:
    here, there = browser(), browser("198.51.100.7")
    sign_in(here)
    sign_in(there)
    _, text = issue_token(user=kim, name="ci", scopes=["keys:read"])
    form = {"tokens": "on"} if tokens else {}
    requested = here.post("/settings/security/sessions/end", form)
    assert requested.headers["Location"].startswith("/accounts/reauthenticate/")
    assert is_in(there)
    assert here.post(requested.headers["Location"], {"password": PASSWORD}).status_code == 302
    assert (is_in(here), is_in(there)) == (True, False)
    assert (live_token(text) is None) == tokens


@pytest.mark.parametrize("revoke", [True, False])
def test_a_new_password_ends_the_others_and_asks_about_tokens(kim: User, revoke: bool) -> None:
    here, there = browser(), browser("198.51.100.7")
    sign_in(here)
    sign_in(there)
    _, text = issue_token(user=kim, name="ci", scopes=["keys:read"])
    assert 'name="revoke_tokens"' in here.get("/accounts/password/change/").content.decode()
    form = {"oldpassword": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    assert here.post("/accounts/password/change/", form | ({"revoke_tokens": "on"} if revoke else {})).status_code == 302
    assert (is_in(here), is_in(there)) == (True, False)
    assert (live_token(text) is None) == revoke
    assert "password.changed" in kinds(kim)
    assert any("assword" in str(message.subject) for message in mails())


@pytest.mark.parametrize("panel", ["admin", "host-panel"])
def test_the_panels_change_no_password_themselves(kim: User, panel: str) -> None:
    User.objects.filter(pk=kim.pk).update(is_host_owner=True, is_staff=True, is_superuser=True)
    client, before = browser(), User.objects.get(pk=kim.pk).password
    sign_in(client)
    form = {"old_password": PASSWORD, "new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}
    for reply in (client.get(f"/{panel}/password_change/"), client.post(f"/{panel}/password_change/", form)):
        assert (reply.status_code, reply.headers["Location"]) == (302, "/accounts/password/change/")
    assert User.objects.get(pk=kim.pk).password == before
    assert client.get(f"/{panel}/password_change/done/").headers["Location"] == "/settings/security"


def test_a_forgotten_password_ends_everything(kim: User) -> None:
    there = browser()
    sign_in(there)
    issue_token(user=kim, name="ci", scopes=["keys:read"])
    Client().post("/accounts/password/reset/", {"email": "kim@example.com"})
    body = next(str(message.body) for message in mails() if "password/reset" in str(message.body))
    path = body[body.index("/accounts/password/reset") :].split()[0]
    visitor = Client()
    form_address = visitor.get(path).headers["Location"]
    visitor.post(form_address, {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})
    assert not is_in(there)
    assert not ApiToken.objects.filter(user=kim, revoked_at=None).exists()
    assert {"password.reset", "token.all_revoked"} <= set(kinds(kim))


def test_a_session_ends_when_it_is_not_used_and_at_the_latest_after_its_time(kim: User) -> None:
    with time_machine.travel(NOON, tick=False) as traveller:
        idle, used = browser(), browser("198.51.100.7")
        sign_in(idle)
        sign_in(used)
        for _ in range(int(SESSION_LONGEST / timedelta(days=1))):
            traveller.shift(timedelta(days=1))
            assert is_in(used)
            if clock.now().timestamp() - NOON == SESSION_IDLE.total_seconds() + 86_400:
                assert not is_in(idle)
        traveller.shift(timedelta(seconds=1))
        assert not is_in(used)


# -- the page, the file, the API


@pytest.fixture
def page(kim: User) -> Client:
    client = browser()
    sign_in(client)
    return client


def test_the_log_is_a_page_and_a_file_with_filters(page: Client, kim: User, mallory: User) -> None:
    issue_token(user=kim, name="=cmd()", scopes=["keys:read"])
    issue_token(user=mallory, name="not yours", scopes=["keys:read"])
    shown = page.get("/settings/log").content.decode()
    for words in ("Signed in", "API token created", "=cmd()", "Firefox on Linux"):
        assert words in shown
    assert "not yours" not in shown
    assert "Signed in" not in page.get("/settings/log?group=token").content.decode()
    assert "API token created" not in page.get("/settings/log?day_to=2020-01-01").content.decode()
    reply: Any = page.get("/settings/log.csv?group=token")
    text = b"".join(reply.streaming_content).decode("utf-8-sig")
    (row,) = csv.DictReader(io.StringIO(text))
    assert (row["kind"], row["subject"][:2]) == ("token.created", "'=")


def test_staff_read_everybodys_log_in_words(kim: User, client: Client) -> None:
    issue_token(user=kim, name="notebook", scopes=["keys:read"])
    client.force_login(User.objects.create_superuser(email="staff@example.com", password="unused-by-force-login"))
    assert 'href="/admin/accounts/accountevent/"' in client.get("/admin/").content.decode()
    page = client.get("/admin/accounts/accountevent/").content.decode()
    assert "API token created" in page and "notebook" in page


def test_the_log_by_the_api(kim: User, mallory: User, bearer: Bearer) -> None:
    reader = bearer(kim, "account:read")
    issue_token(user=kim, name="second", scopes=["keys:read"])
    first = reader.get("/api/v1/account-events?limit=1").json()
    assert first["results"][0]["subject"].startswith("second")
    second = reader.get(first["next"].removeprefix("http://testserver")).json()
    assert second["results"][0]["subject"].startswith("test")
    assert reader.get("/api/v1/account-events?kind=login").json()["results"] == []
    assert reader.get("/api/v1/account-events?kind=nonsense").status_code == 400
    assert bearer(kim, "keys:read").get("/api/v1/account-events").json()["code"] == "missing_scope"
    others_events = bearer(mallory, "account:read").get("/api/v1/account-events").json()["results"]
    assert [row["subject"].startswith("test") for row in others_events] == [True]


def test_strangers_are_sent_to_sign_in(client: Client, db: None) -> None:
    for path in ("/settings/log", "/settings/log.csv"):
        assert client.get(path).headers["Location"].startswith("/accounts/login/")
