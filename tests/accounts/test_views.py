"""Settings pages: what a person does there, and that nobody reaches another's things."""

import pytest
from django.test import Client

from accounts.models import ApiToken, SshKey, User
from accounts.selectors import live_token
from accounts.ssh_keys.services import add_ssh_key
from accounts.tokens.services import issue_token
from common.ids import public_id
from tests.web.world import KEY, OTHER_KEY

PAGES = ("/settings/profile", "/settings/security", "/settings/ssh-keys", "/settings/tokens")


@pytest.fixture
def page(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.mark.django_db
@pytest.mark.parametrize("path", PAGES)
def test_strangers_are_sent_to_sign_in(client: Client, path: str) -> None:
    response = client.get(path)
    assert (response.status_code, response["Location"]) == (302, f"/accounts/login/?next={path}")


@pytest.mark.django_db
def test_part_asked_for_after_the_session_ended_moves_the_whole_page(client: Client) -> None:
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/settings/tokens?x=1"}
    response = client.get("/settings/tokens", headers=headers)
    assert (response.status_code, response["HX-Redirect"]) == (204, "/accounts/login/?next=/settings/tokens%3Fx%3D1")


@pytest.mark.parametrize("path", PAGES)
def test_pages_open(page: Client, path: str) -> None:
    assert page.get(path).status_code == 200


def test_profile_is_saved(page: Client, alice: User) -> None:
    response = page.post("/settings/profile", {"display_name": "Alice B.", "is_host_owner": "on"}, follow=True)
    alice.refresh_from_db()
    assert (alice.display_name, alice.is_host_owner) == ("Alice B.", True)
    assert "Profile saved" in response.content.decode()


def test_too_long_a_name_is_refused(page: Client, alice: User) -> None:
    assert "at most 80" in page.post("/settings/profile", {"display_name": "x" * 81}).content.decode()


def test_key_is_added_shown_and_removed(page: Client, alice: User) -> None:
    shown = page.post("/settings/ssh-keys", {"public_key": KEY, "name": ""}, follow=True).content.decode()
    key = SshKey.objects.get(user=alice)
    assert key.fingerprint in shown
    assert "alice@laptop" in shown
    page.post(f"/settings/ssh-keys/{public_id('key', key.pk)}/remove")
    assert not SshKey.objects.filter(user=alice).exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-----BEGIN OPENSSH PRIVATE KEY-----", "This is a private key"),
        ("ssh-dss AAAA", "This key is too weak"),
        ("nonsense", "a valid SSH public key"),
    ],
)
def test_wrong_keys_are_refused_in_words(page: Client, text: str, words: str) -> None:
    response = page.post("/settings/ssh-keys", {"public_key": text})
    assert response.status_code == 400
    assert words in response.content.decode()


def test_same_key_twice_is_refused(page: Client, alice: User) -> None:
    add_ssh_key(user=alice, name="", public_key=KEY)
    response = page.post("/settings/ssh-keys", {"public_key": KEY})
    assert response.status_code == 409


def test_token_is_shown_once_and_works(page: Client, alice: User) -> None:
    response = page.post("/settings/tokens", {"name": "script", "scopes": ["keys:read"], "lifetime": "30"})
    secret = response.context["secret"]
    token = live_token(secret)
    assert token is not None
    assert (token.user, token.scopes) == (alice, ["keys:read"])
    assert token.expires_at is not None
    assert secret in response.content.decode()
    assert secret not in page.get("/settings/tokens").content.decode()


def test_token_without_scope_is_refused(page: Client, alice: User) -> None:
    page.post("/settings/tokens", {"name": "script", "lifetime": ""})
    assert not ApiToken.objects.filter(user=alice).exists()


def test_token_without_end(page: Client, alice: User) -> None:
    page.post("/settings/tokens", {"name": "script", "scopes": ["keys:read"], "lifetime": ""})
    assert ApiToken.objects.get(user=alice).expires_at is None


def test_token_is_revoked(page: Client, alice: User) -> None:
    token, secret = issue_token(user=alice, name="old", scopes=["keys:read"])
    page.post(f"/settings/tokens/{public_id('tok', token.pk)}/revoke")
    assert live_token(secret) is None


def test_others_keys_and_tokens_do_not_exist(page: Client, bob: User) -> None:
    key = add_ssh_key(user=bob, name="", public_key=OTHER_KEY)
    token, secret = issue_token(user=bob, name="bobs", scopes=["keys:read"])
    assert page.post(f"/settings/ssh-keys/{public_id('key', key.pk)}/remove").status_code == 404
    assert page.post(f"/settings/tokens/{public_id('tok', token.pk)}/revoke").status_code == 404
    assert SshKey.objects.filter(user=bob).exists()
    assert live_token(secret) is not None


@pytest.mark.parametrize("path", ["/settings/ssh-keys/key_x/remove", "/settings/tokens/tok_x/revoke"])
def test_removing_needs_a_form(page: Client, path: str) -> None:
    assert page.get(path).status_code == 405
    assert page.post(path).status_code == 404
