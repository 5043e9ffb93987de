"""Invitations are mail to whom the sender chooses: bounded by sender, team and address, and never in the sender's words."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client

from accounts.constants import INVITATIONS_BY_SENDER, INVITATIONS_TO_ADDRESS, INVITED_AGAIN_AFTER
from accounts.mail.outbox import send_mails
from accounts.models import InvitationMail, Membership, User
from accounts.teams.invitations import delete_old_invitation_mails
from common import clock
from common.http.secret_paths import SecretPaths
from tests.mails import sent

Bearer = Callable[..., Client]
NOON = 1_800_000_000.0
PHISHING = "Berth Security. Your wallet closes: http://evil.example/x www.evil.example"


def post(client: Client, path: str, body: object, capture: Any, **headers: str) -> Any:
    with capture(execute=True):
        return client.post(f"/api/v1{path}", json.dumps(body), content_type="application/json", headers=headers)


@pytest.fixture
def invite(bearer: Bearer, django_capture_on_commit_callbacks: Any) -> Callable[..., Any]:
    """`invite(user, team, address)` through the API."""

    def go(user: User, team: str, email: str) -> Any:
        return post(bearer(user), f"/teams/{team}/members", {"email": email}, django_capture_on_commit_callbacks)

    return go


@pytest.fixture
def new_team(bearer: Bearer, django_capture_on_commit_callbacks: Any) -> Callable[..., str]:
    def go(user: User, name: str = "Lab") -> str:
        return str(post(bearer(user), "/teams", {"name": name}, django_capture_on_commit_callbacks).json()["id"])

    return go


def test_one_sender_writes_to_so_many_an_hour(alice: User, new_team: Callable[..., str], invite: Callable[..., Any]) -> None:
    most = INVITATIONS_BY_SENDER[0][0]
    with time_machine.travel(NOON, tick=False) as traveller:
        teams = [new_team(alice) for _ in range(2)]  # another team does not help
        replies = [invite(alice, teams[number % 2], f"p{number}@example.com") for number in range(most)]
        assert {reply.status_code for reply in replies} == {201}
        refused = invite(alice, teams[0], "one.more@example.com")
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_invitations")
        assert refused.headers["Retry-After"] == "3600"
        assert not Membership.objects.filter(email="one.more@example.com").exists()
        assert len(sent("Invitation")) == most
        traveller.shift(timedelta(hours=1))
        assert invite(alice, teams[0], "one.more@example.com").status_code == 201


def test_one_address_is_written_to_so_often_whoever_asks(
    alice: User, new_team: Callable[..., str], invite: Callable[..., Any]
) -> None:
    most = INVITATIONS_TO_ADDRESS[0][0]
    senders = [User.objects.create_user(f"s{number}@example.com", "x") for number in range(most + 1)]
    replies = [invite(sender, new_team(sender), "Victim@example.com") for sender in senders]
    assert [reply.status_code for reply in replies] == [201] * most + [429]
    assert len(sent("Invitation")) == most


def test_the_same_address_is_not_written_to_again_at_once(
    alice: User, new_team: Callable[..., str], invite: Callable[..., Any]
) -> None:
    with time_machine.travel(NOON, tick=False) as traveller:
        team = new_team(alice)
        first = invite(alice, team, "bob@example.com")
        kept = Membership.objects.get(email="bob@example.com").invite_hash
        again = invite(alice, team, "BOB@example.com")
        assert (again.status_code, again.json()["code"]) == (429, "invited_lately")
        assert again.headers["Retry-After"] == str(int(INVITED_AGAIN_AFTER.total_seconds()))
        assert Membership.objects.get(email="bob@example.com").invite_hash == kept, "the link that was mailed stays good"
        assert (first.status_code, len(sent("Invitation"))) == (201, 1)
        traveller.shift(INVITED_AGAIN_AFTER)
        assert invite(alice, team, "bob@example.com").status_code == 201


def test_taking_an_invitation_or_a_team_back_gives_no_mail_back(
    alice: User, new_team: Callable[..., str], invite: Callable[..., Any], bearer: Bearer
) -> None:
    most = INVITATIONS_BY_SENDER[0][0]
    for number in range(most):
        team = new_team(alice)
        assert invite(alice, team, f"p{number}@example.com").status_code == 201
        assert bearer(alice).delete(f"/api/v1/teams/{team}").status_code == 204
    assert invite(alice, new_team(alice), "last@example.com").status_code == 429


def test_the_page_says_the_same(
    alice: User, new_team: Callable[..., str], invite: Callable[..., Any], client: Client
) -> None:
    team = new_team(alice)
    invite(alice, team, "bob@example.com")
    client.force_login(alice)
    reply = client.post(f"/settings/teams/{team}", {"email": "bob@example.com", "role": "member"})
    assert (reply.status_code, "Retry-After" in reply.headers) == (429, True)
    assert "You just invited this address" in reply.content.decode()


def test_no_words_or_links_of_the_sender_reach_the_mail(
    alice: User, new_team: Callable[..., str], invite: Callable[..., Any]
) -> None:
    User.objects.filter(pk=alice.pk).update(display_name=PHISHING)
    alice.refresh_from_db()
    secret = invite(alice, new_team(alice, PHISHING[:80]), "bob@example.com").json()["secret"]
    [message] = sent("Invitation")
    subject, body = message.subject, str(message.body)
    assert subject == "Invitation to join a team"
    assert "evil.example" not in body
    assert "wallet closes:" not in body
    assert "alice@example.com" in body
    links = [word for word in body.split() if "://" in word or word.startswith("www.")]
    assert links == [f"http://127.0.0.1:8000/settings/teams/join/{secret}"]


def test_a_line_break_in_a_name_is_refused_and_costs_no_invitation(
    alice: User, bearer: Bearer, new_team: Callable[..., str], invite: Callable[..., Any]
) -> None:
    team = new_team(alice)
    bad = json.dumps({"name": "x\nBcc: evil@b.c"})
    refused = bearer(alice).patch(f"/api/v1/teams/{team}", bad, content_type="application/json")
    assert (refused.status_code, [error["field"] for error in refused.json()["errors"]]) == (400, ["name"])
    reply = invite(alice, team, "bob@example.com")
    assert (reply.status_code, bool(reply.json()["secret"])) == (201, True)
    [message] = sent("Invitation")
    assert "evil" not in message.message().as_string()


@pytest.mark.parametrize("answer", [403, 404])
def test_a_refused_invitation_leaves_its_secret_in_no_log(
    client: Client, bob: User, caplog: pytest.LogCaptureFixture, answer: int
) -> None:
    if answer == 404:
        client.force_login(bob)
    else:
        client.handler.enforce_csrf_checks = True
        client.force_login(bob)
    secret = "s3cret-of-an-invitation"
    address = f"/settings/teams/join/{secret}"
    reply = client.get(address) if answer == 404 else client.post(address)
    assert reply.status_code == answer
    logged = [f"{SecretPaths().filter(record) and record.getMessage()}" for record in caplog.records]
    assert logged and all("/settings/teams/join/…" in line for line in logged if "teams/join" in line)
    assert secret not in "".join(logged)
    assert secret not in reply.content.decode()


@pytest.fixture
def signed_in(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.mark.parametrize("failure", [OSError("away"), ValueError("bad header"), UnicodeError("no such letter")])
def test_a_mail_that_fails_never_loses_the_secret(
    signed_in: Client,
    new_team: Callable[..., str],
    invite: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    failure: Exception,
) -> None:
    def refuse(*_args: object, **_options: object) -> None:
        raise failure

    alice = User.objects.get(email="alice@example.com")
    team = new_team(alice)
    monkeypatch.setattr("common.mail.mail.EmailMessage.send", refuse)
    assert invite(alice, team, "bob@example.com").json()["secret"]
    page = signed_in.post(f"/settings/teams/{team}", {"email": "hana@example.com", "role": "member"})
    assert page.status_code == 200
    assert f"/settings/teams/join/{page.context['secret']}" in page.content.decode()
    assert "send this link yourself" in page.content.decode()
    send_mails(now=clock.now())
    monkeypatch.undo()
    later = clock.now() + timedelta(minutes=5)
    assert (send_mails(now=later), len(sent("Invitation"))) == (4, 2)


def test_what_no_limit_counts_any_more_is_dropped(
    alice: User, new_team: Callable[..., str], invite: Callable[..., Any]
) -> None:
    invite(alice, new_team(alice), "bob@example.com")
    assert delete_old_invitation_mails(now=clock.now()) == 0
    assert delete_old_invitation_mails(now=clock.now() + timedelta(days=1, seconds=1)) == 1
    assert not InvitationMail.objects.exists()
