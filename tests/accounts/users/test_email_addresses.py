"""Email addresses that hide something are refused at every door, with a code that says what is wrong."""

import json
from collections.abc import Callable

import pytest
from allauth.account.models import EmailAddress
from django.core.management import call_command
from django.test import Client

from accounts.models import Membership, OutgoingMail, User
from common.email_addresses import parse_email
from common.errors import InvalidInput
from tests.conftest import PASSWORD

Bearer = Callable[..., Client]

HIDING = {
    "a@exa\u200bmple.com": "hidden_characters",
    "a@example.com\u202e": "hidden_characters",
    "a\u2066@example.com": "hidden_characters",
    "a@exam\x07ple.com": "hidden_characters",
    "a@example.com\nBcc: all@example.org": "hidden_characters",
    "a b@example.com": "hidden_characters",
    '"a"@example.com': "quoted",
    '"a@evil.example"@example.com': "quoted",
    "a@p\u0430ypal.com": "domain",  # a Cyrillic letter among Latin ones
    "a@xn--pypal-4ve.com": "domain",  # the same in its ASCII form
    "a@\uff45xample.com": "domain",  # full width
    "a@ex\u3002ample.com": "domain",
    "a@[127.0.0.1]": "domain",
    "a@example": "domain",
    "a" * 65 + "@example.com": "too_long",
    "a@" + ("b" * 60 + ".") * 4 + "example.com": "too_long",
    "\uff41@example.com": "invalid",
}
PLAIN = ["a@example.com", "A.b+c_d@Sub.Example.com", "a@bücher.example", "a@例え.example", "a@localhost", "a@1und1.example"]


def words_of(code: str) -> str:
    with pytest.raises(InvalidInput) as refused:
        parse_email(next(text for text, fault in HIDING.items() if fault == code))
    return refused.value.detail


@pytest.mark.parametrize(("text", "fault"), HIDING.items())
def test_sign_up_and_a_further_address(client: Client, alice: User, text: str, fault: str) -> None:
    """Spaces around an address are no part of it; what they hide in the middle is refused by the field's own words."""
    signed_up = client.post("/accounts/signup/", {"email": text, "password1": PASSWORD, "password2": PASSWORD})
    assert (signed_up.status_code, User.objects.count()) == (200, 1)
    assert signed_up.context["form"].errors["email"] == [words_of(fault)]
    client.force_login(alice)
    EmailAddress.objects.create(user=alice, email=alice.email, verified=True, primary=True)
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    added = client.post("/accounts/email/", {"email": text, "action_add": ""})
    assert (added.status_code, EmailAddress.objects.count()) == (200, 1)
    assert added.context["form"].errors["email"] == [words_of(fault)]
    assert not OutgoingMail.objects.exists()


@pytest.mark.parametrize(("text", "fault"), HIDING.items())
def test_invitations(client: Client, alice: User, bearer: Bearer, text: str, fault: str) -> None:
    api = bearer(alice)
    team = api.post("/api/v1/teams", json.dumps({"name": "Lab"}), content_type="application/json").json()["id"]
    refused = api.post(f"/api/v1/teams/{team}/members", json.dumps({"email": text}), content_type="application/json")
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")
    assert [(error["field"], error["code"]) for error in refused.json()["errors"]] == [("email", fault)]
    client.force_login(alice)
    page = client.post(f"/settings/teams/{team}", {"email": text, "role": "member"})
    assert words_of(fault) in page.content.decode()
    assert Membership.objects.count() == 1
    assert not OutgoingMail.objects.exclude(to=alice.email).exists()


@pytest.mark.parametrize("text", PLAIN)
def test_what_hides_nothing_is_taken(client: Client, db: None, text: str) -> None:
    assert parse_email(text) == text.lower()
    signed_up = client.post("/accounts/signup/", {"email": f" {text} ", "password1": PASSWORD, "password2": PASSWORD})
    assert signed_up.status_code == 302
    assert User.objects.get().email == text.lower()


def test_the_command_that_makes_staff(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    with pytest.raises(InvalidInput):
        call_command("createsuperuser", interactive=False, email="a@exa\u200bmple.com")
    assert not User.objects.exists()
