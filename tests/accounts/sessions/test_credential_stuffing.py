"""Credential stuffing and leaked tokens (fault 100): slowed down by account and by network, and ended at once."""

import pytest
from django.test import Client

from accounts.models import AccountEvent, User
from accounts.tokens.services import issue_token, revoke_token
from accounts.users.profile import add_person
from tests.accounts.users.test_sign_up import PASSWORD, sign_in

pytestmark = pytest.mark.django_db
PEOPLE = 40


def test_fault_100_one_network_with_many_stolen_pairs(db: None) -> None:
    """A list of addresses and passwords from another site: the network is refused long before the list is through."""
    for number in range(PEOPLE):
        add_person(email=f"p{number}@example.com", password=PASSWORD)
    thief = Client(REMOTE_ADDR="198.51.100.7")
    codes = [
        thief.post("/accounts/login/", {"login": f"p{number}@example.com", "password": "from-another-site"}).status_code
        for number in range(PEOPLE)
    ]
    tried = codes.index(429)
    assert tried < PEOPLE
    assert set(codes[tried:]) == {429}
    right = thief.post("/accounts/login/", {"login": f"p{PEOPLE - 1}@example.com", "password": PASSWORD})
    assert right.status_code == 429, "a pair that is right is of no use from there"
    assert sign_in(Client(REMOTE_ADDR="192.0.2.9"), "p0@example.com") == "/instances", "its owner gets in from elsewhere"


def test_fault_100_one_account_from_many_networks(db: None) -> None:
    add_person(email="kim@example.com", password=PASSWORD)
    codes = []
    for network in range(60):
        thief = Client(REMOTE_ADDR=f"198.51.{network}.7")
        codes += [
            thief.post("/accounts/login/", {"login": "kim@example.com", "password": f"guess-{each}"}).status_code
            for each in range(3)
        ]
    assert 429 in codes
    assert codes.count(200) <= 120, "so many guesses an hour, from wherever they come"
    assert AccountEvent.objects.filter(kind="login.failed").exists(), "its owner can see it"


def test_fault_100_a_leaked_token_ends_with_its_revocation(alice: User) -> None:
    token, text = issue_token(user=alice, name="ci", scopes=["instances:read"])
    thief = Client(headers={"authorization": f"Bearer {text}"})
    assert thief.get("/api/v1/instances").status_code == 200
    revoke_token(user=alice, token_id=token.pk)
    assert thief.get("/api/v1/instances").status_code == 401
    assert text.startswith("berth_"), "a scanner of repositories finds it by its beginning"
    assert text not in str(list(type(token).objects.values())), "what is kept opens nothing"
