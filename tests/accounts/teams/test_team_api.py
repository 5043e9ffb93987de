"""The API of teams: a team from its making to its end, and who may do what."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import Membership, Team, User
from common.ids import public_id
from tests.mails import sent

Bearer = Callable[..., Client]


def send(client: Client, method: str, path: str, body: object = None, **headers: str) -> Any:
    return client.generic(method, f"/api/v1{path}", json.dumps(body), content_type="application/json", headers=headers)


@pytest.fixture
def owner(alice: User, bearer: Bearer) -> Client:
    return bearer(alice)


@pytest.fixture
def guest(bob: User, bearer: Bearer) -> Client:
    return bearer(bob)


@pytest.fixture
def path(owner: Client) -> str:
    return f"/teams/{send(owner, 'POST', '/teams', {'name': 'Lab'}).json()['id']}"


@pytest.fixture
def secret(owner: Client, path: str) -> str:
    return str(send(owner, "POST", f"{path}/members", {"email": "bob@example.com"}).json()["secret"])


def test_a_team_from_its_making_to_its_end(owner: Client, guest: Client, path: str, secret: str, bob: User) -> None:
    assert send(owner, "GET", path).json()["role"] == "owner"
    assert send(guest, "GET", path).status_code == 404
    joined = send(guest, "POST", "/teams/join", {"secret": secret})
    assert (joined.status_code, joined.json()["role"]) == (201, "member")
    first, second = send(guest, "GET", f"{path}/members").json()["results"]
    assert {row["email"]: row["role"] for row in (first, second)} == {
        "alice@example.com": "owner",
        "bob@example.com": "member",
    }
    place = next(row["id"] for row in (first, second) if row["user_id"] == public_id("user", bob.pk))
    assert send(owner, "PATCH", f"{path}/members/{place}", {"role": "owner"}).json()["role"] == "owner"
    assert send(guest, "PATCH", path, {"name": "Vision"}).json()["name"] == "Vision"
    assert send(owner, "DELETE", path).json()["code"] == "last_owner"
    assert send(guest, "DELETE", f"{path}/members/{place}").status_code == 204
    assert send(owner, "DELETE", path).status_code == 204
    assert not Team.objects.exists()


def test_a_member_is_refused_what_owners_do(guest: Client, path: str, secret: str) -> None:
    send(guest, "POST", "/teams/join", {"secret": secret})
    for method, where, body in (
        ("PATCH", path, {"name": "Mine"}),
        ("DELETE", path, None),
        ("POST", f"{path}/members", {"email": "x@example.com"}),
    ):
        assert send(guest, method, where, body).status_code == 403


def test_a_repeated_invitation_is_mailed_once_and_shows_its_secret_once(
    owner: Client, path: str, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        first, again = (
            send(owner, "POST", f"{path}/members", {"email": "bob@example.com"}, **{"Idempotency-Key": "k"})
            for _ in range(2)
        )
    assert (first.status_code, again.status_code) == (201, 201)
    assert (first.json()["id"], again.json()["secret"]) == (again.json()["id"], None)
    assert [message.to for message in sent("Invitation")] == [["bob@example.com"]]
    assert first.json()["secret"] in sent("Invitation")[0].body


def test_a_rehearsal_invites_and_writes_to_nobody(owner: Client, path: str, django_capture_on_commit_callbacks: Any) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        reply = send(owner, "POST", f"{path}/members?dry_run=true", {"email": "bob@example.com"})
    assert (reply.status_code, reply.json()["secret"]) == (200, None)
    assert (Membership.objects.count(), sent("Invitation")) == (1, [])


def test_an_invitation_is_for_its_address_alone(mallory: User, bearer: Bearer, secret: str) -> None:
    assert send(bearer(mallory), "POST", "/teams/join", {"secret": secret}).status_code == 404


def test_a_token_needs_the_scope(alice: User, bearer: Bearer, path: str) -> None:
    reader = bearer(alice, "billing:read")
    assert send(reader, "GET", path).status_code == 200
    assert send(reader, "PATCH", path, {"name": "x"}).json()["code"] == "missing_scope"
