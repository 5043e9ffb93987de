"""The API of one's own things, as a program sees it."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import ApiToken, RememberedReply, SshKey, User
from accounts.ssh_keys.services import add_ssh_key
from accounts.tokens.services import issue_token
from common import clock
from common.ids import public_id

Bearer = Callable[..., Client]
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"


def post(client: Client, path: str, body: object, **headers: str) -> Any:
    return client.post(path, json.dumps(body), content_type="application/json", headers=headers)


def test_me_says_who_asks(alice: User, bearer: Bearer) -> None:
    reply = bearer(alice, "keys:read").get("/api/v1/me")
    assert reply.status_code == 200
    assert reply.json() == {
        "id": public_id("user", alice.pk),
        "email": "alice@example.com",
        "display_name": "Alice",
        "is_host_owner": False,
        "date_joined": reply.json()["date_joined"],
    }
    assert reply.json()["date_joined"].endswith("Z")


def test_me_is_one_query(alice: User, bearer: Bearer) -> None:
    client = bearer(alice, "keys:read")
    client.get("/api/v1/me")  # notes the use
    with CaptureQueriesContext(connection) as queries:
        client.get("/api/v1/me")
    assert len(queries) == 1


def test_the_profile_is_changed_with_the_scope_only(alice: User, bearer: Bearer) -> None:
    body = {"display_name": "Al", "is_host_owner": True, "is_staff": True, "email": "other@example.com"}
    refused = bearer(alice, "keys:read").patch("/api/v1/me", body, content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (403, "missing_scope")
    assert refused.json()["scope"] == "account:write"
    reply = bearer(alice, "account:write").patch("/api/v1/me", body, content_type="application/json")
    assert (reply.json()["display_name"], reply.json()["is_host_owner"]) == ("Al", True)
    alice.refresh_from_db()
    assert (alice.is_staff, alice.email) == (False, "alice@example.com")


def test_a_token_is_shown_once(alice: User, bearer: Bearer) -> None:
    client = bearer(alice)
    made = post(client, "/api/v1/tokens", {"name": "ci", "scopes": ["keys:read"]})
    assert made.status_code == 201
    text = made.json()["token"]
    listed = client.get("/api/v1/tokens").json()["results"]
    assert [row["name"] for row in listed] == ["ci", "test"]
    assert "token" not in listed[0]
    assert text not in str(listed)
    one = client.get(f"/api/v1/tokens/{made.json()['id']}")
    assert (one.status_code, one.json()["prefix"]) == (200, text.split("_")[1])
    assert Client(headers={"authorization": f"Bearer {text}"}).get("/api/v1/ssh-keys").status_code == 200


def test_a_repeated_post_answers_alike_but_without_the_secret(alice: User, bearer: Bearer) -> None:
    client = bearer(alice)
    body = {"name": "ci", "scopes": ["keys:read"]}
    first = post(client, "/api/v1/tokens", body, idempotency_key="k1")
    second = post(client, "/api/v1/tokens", {"scopes": ["keys:read"], "name": "ci"}, idempotency_key="k1")
    assert (first.status_code, second.status_code) == (201, 201)
    assert second.json() == {**first.json(), "token": None}
    assert ApiToken.objects.filter(name="ci").count() == 1
    secret = first.json()["token"].rpartition("_")[2]
    assert not RememberedReply.objects.filter(body__icontains=secret).exists()
    other = post(client, "/api/v1/tokens", {**body, "name": "cd"}, idempotency_key="k1")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_conflict")


@pytest.mark.parametrize("key", ["", " ", "x" * 201, "a\tb"])
def test_an_unusable_key_is_refused(alice: User, bearer: Bearer, key: str) -> None:
    reply = post(bearer(alice), "/api/v1/tokens", {"name": "ci", "scopes": ["keys:read"]}, idempotency_key=key)
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (400, "Idempotency-Key")


def test_a_dry_run_changes_nothing(alice: User, bearer: Bearer) -> None:
    client = bearer(alice)
    reply = post(client, "/api/v1/tokens?dry_run=true", {"name": "ci", "scopes": ["keys:read"]}, idempotency_key="k")
    assert (reply.status_code, reply.json()["token"], reply.headers["Dry-Run"]) == (200, None, "true")
    assert not ApiToken.objects.filter(name="ci").exists()
    assert not RememberedReply.objects.exists()
    refused = post(client, "/api/v1/ssh-keys?dry_run=true", {"public_key": "no key"})
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_ssh_key")
    unclear = post(client, "/api/v1/ssh-keys?dry_run=maybe", {"public_key": KEY})
    assert unclear.status_code == 400


def test_tokens_issue_no_more_than_they_have(alice: User, bearer: Bearer) -> None:
    client = bearer(alice, "tokens:write", "keys:read")
    reply = post(client, "/api/v1/tokens", {"name": "ci", "scopes": ["keys:read", "keys:write"]})
    assert (reply.status_code, reply.json()["code"]) == (403, "missing_scope")
    assert post(bearer(alice, "keys:read"), "/api/v1/tokens", {"name": "c", "scopes": ["keys:read"]}).status_code == 403


def test_a_session_issues_any_scope_but_needs_csrf(alice: User) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(alice)
    assert browser.get("/api/v1/me").status_code == 200
    body = {"name": "ci", "scopes": ["instances:write"]}
    refused = post(browser, "/api/v1/tokens", body)
    assert (refused.status_code, refused.json()["status"]) == (403, 403)
    assert not ApiToken.objects.exists()
    browser.cookies["csrftoken"] = "c" * 32
    assert post(browser, "/api/v1/tokens", body, x_csrftoken="d" * 32).status_code == 403
    assert post(browser, "/api/v1/tokens", body, x_csrftoken="c" * 32).status_code == 201


def test_revoking_ends_a_token_at_once(alice: User, bearer: Bearer) -> None:
    _, text = issue_token(user=alice, name="x", scopes=["tokens:write"])
    client = Client(headers={"authorization": f"Bearer {text}"})
    own = client.get("/api/v1/tokens").json()["results"][0]["id"]
    assert client.delete(f"/api/v1/tokens/{own}").status_code == 204
    gone = client.get("/api/v1/tokens")
    assert (gone.status_code, gone.headers["WWW-Authenticate"]) == (401, 'Bearer realm="berth"')
    assert bearer(alice).delete(f"/api/v1/tokens/{own}").status_code == 404


def test_ssh_keys_come_and_go(alice: User, bearer: Bearer) -> None:
    client = bearer(alice, "keys:read", "keys:write", "instances:connect")
    made = post(client, "/api/v1/ssh-keys", {"name": "laptop", "public_key": f"{KEY} me@here"})
    assert made.status_code == 201
    row = made.json()
    assert (row["name"], row["kind"], row["public_key"]) == ("laptop", "ssh-ed25519", KEY)
    assert row["fingerprint"].startswith("SHA256:")
    assert client.get("/api/v1/ssh-keys").json() == {"next": None, "previous": None, "results": [row]}
    assert client.get(f"/api/v1/ssh-keys/{row['id']}").json() == row
    again = post(client, "/api/v1/ssh-keys", {"public_key": KEY})
    assert (again.status_code, again.json()["code"]) == (409, "ssh_key_exists")
    assert client.delete(f"/api/v1/ssh-keys/{row['id']}").status_code == 204
    assert client.delete(f"/api/v1/ssh-keys/{row['id']}").status_code == 404


def test_a_malformed_key_is_refused_with_advice(alice: User, bearer: Bearer) -> None:
    reply = post(bearer(alice), "/api/v1/ssh-keys", {"public_key": "ssh-ed25519 AAAA"})
    assert (reply.status_code, reply.headers["Content-Type"]) == (400, "application/problem+json")
    assert (reply.json()["code"], reply.json()["errors"][0]["field"]) == ("invalid_ssh_key", "public_key")


def test_pages_are_walked_by_cursor(alice: User, bearer: Bearer) -> None:
    client = bearer(alice, "tokens:write")
    for number in range(4):
        issue_token(user=alice, name=str(number), scopes=["keys:read"])
    names, address = [], "/api/v1/tokens?limit=2"
    while address:
        page = client.get(address).json()
        names += [row["name"] for row in page["results"]]
        address = page["next"]
    assert names == ["3", "2", "1", "0", "test"]


def test_others_rows_do_not_exist(alice: User, mallory: User, bearer: Bearer) -> None:
    key = add_ssh_key(user=alice, name="x", public_key=KEY)
    token, _ = issue_token(user=alice, name="x", scopes=["keys:read"])
    client = bearer(mallory)
    for path in (f"ssh-keys/{public_id('key', key.pk)}", f"tokens/{public_id('tok', token.pk)}"):
        assert client.get(f"/api/v1/{path}").status_code == 404
        assert client.delete(f"/api/v1/{path}").status_code == 404
    assert SshKey.objects.count() == 1


def test_an_expired_token_is_refused(alice: User) -> None:
    token, text = issue_token(user=alice, name="x", scopes=["keys:read"], expires_at=clock.now() + timedelta(hours=1))
    ApiToken.objects.filter(pk=token.pk).update(expires_at=clock.now())
    reply = Client(headers={"authorization": f"Bearer {text}"}).get("/api/v1/me")
    assert (reply.status_code, reply.json()["code"]) == (401, "authentication_failed")
