"""Logins of programs: allowed once, by a person who is signed in, for one token with the scopes that were shown."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from accounts.device_logins.logins import MOST_WRONG_CODES
from accounts.models import ApiToken, User
from accounts.tokens.services import revoke_all_tokens

pytestmark = pytest.mark.django_db

WANTED = {"client": "berth on laptop", "scopes": ["instances:read", "billing:read"]}


@pytest.fixture(autouse=True)
def no_old_codes() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def start(client: Client, **changes: Any) -> dict[str, Any]:
    reply = client.post("/api/v1/device-logins", {**WANTED, **changes}, "application/json")
    assert reply.status_code == 200, reply.content
    assert reply["Cache-Control"] == "no-store"
    found: dict[str, Any] = reply.json()
    return found


def redeem(client: Client, login: dict[str, Any], *, hurry: bool = True) -> tuple[int, dict[str, Any]]:
    if hurry:
        cache.delete_many([key for key in (f"device-asked:{digest}" for digest in digests(login))])
    reply = client.post("/api/v1/device-logins/token", {"device_code": login["device_code"]}, "application/json")
    return reply.status_code, reply.json()


def digests(login: dict[str, Any]) -> list[str]:
    from common.encryption import secret_digest

    return [secret_digest(login["device_code"])]


def answer(client: Client, login: dict[str, Any], word: str = "allow") -> Any:
    return client.post("/device", {"code": login["user_code"], "answer": word})


def test_from_the_code_to_the_token(client: Client, alice: User) -> None:
    login = start(client)
    assert login["verification_uri_complete"].endswith(f"/device?code={login['user_code']}")
    assert redeem(client, login)[1]["code"] == "authorization_pending"

    client.force_login(alice)
    page = client.get("/device", {"code": login["user_code"].lower()}).content.decode()
    assert "berth on laptop" in page and "instances:read" in page and login["device_code"] not in page
    assert answer(client, login).status_code == 302

    status, token = redeem(Client(), login)
    assert (status, token["token_type"], token["scope"]) == (200, "Bearer", "billing:read instances:read")
    me = Client().get("/api/v1/me", headers={"Authorization": f"Bearer {token['access_token']}"})
    assert me.json()["email"] == alice.email
    made = ApiToken.objects.get(user=alice)
    assert (made.name, sorted(made.scopes), made.expires_at is not None) == (
        WANTED["client"],
        sorted(WANTED["scopes"]),
        True,
    )
    assert redeem(Client(), login)[1]["code"] == "expired_token"
    assert ApiToken.objects.filter(user=alice).count() == 1
    assert revoke_all_tokens(user=alice) == 1


def test_a_refusal(client: Client, alice: User) -> None:
    login = start(client)
    client.force_login(alice)
    answer(client, login, "refuse")
    assert redeem(client, login) == (400, {**redeem(client, login)[1], "code": "access_denied"})
    assert answer(client, login).status_code == 404, "the first answer counts"
    assert ApiToken.objects.count() == 0


def test_who_asks_too_often_is_slowed_down(client: Client) -> None:
    login = start(client)
    assert redeem(client, login, hurry=False)[1]["code"] == "authorization_pending"
    assert redeem(client, login, hurry=False)[1]["code"] == "slow_down"


def test_nobody_answers_without_signing_in(client: Client) -> None:
    login = start(client)
    reply = answer(client, login)
    assert (reply.status_code, "/accounts/login" in reply["Location"]) == (302, True)
    assert redeem(client, login)[1]["code"] == "authorization_pending"


def test_an_answer_comes_from_the_page_itself(alice: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    assert answer(strict, start(Client())).status_code == 403


def test_codes_are_not_guessed(client: Client, alice: User) -> None:
    client.force_login(alice)
    statuses = [client.get("/device", {"code": "BCDF-BCDF"}).status_code for _ in range(MOST_WRONG_CODES + 1)]
    assert statuses == [404] * MOST_WRONG_CODES + [429]
    right = start(Client())
    assert client.get("/device", {"code": right["user_code"]}).status_code == 429, "not even the right one is told any more"
    assert answer(client, right).status_code == 429


def test_what_was_allowed_ends_with_all_other_tokens(client: Client, alice: User) -> None:
    """Somebody sees at once that they were deceived, and revokes all: whoever holds the code comes too late."""
    login = start(Client())
    client.force_login(alice)
    answer(client, login)
    assert login_of(alice).name == WANTED["client"], "it is listed before it is used"
    assert revoke_all_tokens(user=alice) == 1
    assert redeem(Client(), login)[1]["code"] == "access_denied"
    assert not ApiToken.objects.filter(user=alice, revoked_at=None).exists()


def login_of(user: User) -> ApiToken:
    return ApiToken.objects.get(user=user, revoked_at=None)


def test_an_account_full_of_tokens_is_told_so_on_the_page(
    client: Client, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = start(Client())
    client.force_login(alice)
    monkeypatch.setattr("accounts.tokens.services.MAX_LIVE_TOKENS", 0)
    refused = answer(client, login)
    assert (refused.status_code, "reached your account" in refused.content.decode()) == (409, True)
    monkeypatch.undo()
    assert answer(client, login).status_code == 302, "it can be allowed after some were revoked"
    assert redeem(Client(), login)[0] == 200


def test_a_deactivated_account_gets_no_token(client: Client, alice: User) -> None:
    login = start(client)
    client.force_login(alice)
    answer(client, login)
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert redeem(Client(), login)[1]["code"] == "access_denied"


@pytest.mark.parametrize(
    "changes", [{"scopes": []}, {"scopes": ["everything"]}, {"client": ""}, {"client": "a\u202eb"}, {"client": "x" * 81}]
)
def test_bad_input_names_the_field(client: Client, changes: dict[str, Any]) -> None:
    reply = client.post("/api/v1/device-logins", {**WANTED, **changes}, "application/json")
    assert reply.status_code == 400
    assert reply.json()["errors"][0]["field"].partition(".")[0] == next(iter(changes))


@pytest.mark.parametrize("code", ["", "x", "x" * 200, "\u0660"])
def test_an_unknown_device_code(client: Client, code: str) -> None:
    reply = client.post("/api/v1/device-logins/token", {"device_code": code}, "application/json")
    assert reply.status_code == 400
