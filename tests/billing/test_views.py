"""Wallet, statement and earnings: the figures of the selectors, and nobody else's."""

import re

import pytest
from django.test import Client

from accounts.models import User
from billing.ledger.wallets import grant_credit

UNIT = 1_000_000
PAGES = ("/wallet", "/wallet/pill", "/wallet/statement", "/hosts/earnings")


def _grant(user: User, units: int, key: str = "k") -> None:
    grant_credit(owner_id=user.pk, amount_micros=units * UNIT, actor="staff", key=key, memo="Welcome credit")


@pytest.mark.django_db
@pytest.mark.parametrize("path", PAGES)
def test_strangers_are_sent_to_sign_in(client: Client, path: str) -> None:
    assert client.get(path)["Location"].startswith("/accounts/login/")


@pytest.mark.parametrize("path", PAGES)
def test_pages_open_without_a_wallet(client: Client, alice: User, path: str) -> None:
    client.force_login(alice)
    assert client.get(path).status_code == 200


def test_empty_wallet_says_what_to_do(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert "Your wallet is empty" in client.get("/wallet").content.decode()


def test_wallet_shows_balance_and_lines(client: Client, alice: User) -> None:
    _grant(alice, 25)
    client.force_login(alice)
    text = client.get("/wallet").content.decode()
    assert "$25.00" in text
    assert "Welcome credit" in text
    assert "$25.00" in client.get("/wallet/pill").content.decode()


def test_wallet_part_is_the_page_without_its_frame(client: Client, alice: User) -> None:
    client.force_login(alice)
    text = client.get("/wallet", headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in text
    assert "On hold" in text


def test_statement_is_in_pages(client: Client, alice: User) -> None:
    for number in range(60):
        _grant(alice, 1, key=f"k{number}")
    client.force_login(alice)
    first = client.get("/wallet/statement").content.decode()
    assert first.count("Welcome credit") == 50
    (cursor,) = re.findall(r"cursor=([0-9-]+)", first)
    second = client.get("/wallet/statement", {"cursor": cursor}).content.decode()
    assert second.count("Welcome credit") == 10
    assert 'rel="next"' not in second, "the last page"


def test_nobody_sees_another_wallet(client: Client, alice: User, mallory: User) -> None:
    _grant(alice, 25)
    client.force_login(mallory)
    for path in PAGES:
        text = client.get(path).content.decode()
        assert "25.00" not in text
        assert "Welcome credit" not in text
