"""`/wallet` and `/wallet/entries`: the renter's own, by session or by a token with the scope."""

from typing import Any

import pytest
import time_machine
from django.test import Client
from rest_framework.test import APIClient, APIRequestFactory, force_authenticate

from accounts.models import User
from accounts.tokens.services import issue_token
from billing.web.statements.api import WalletApi, WalletEntriesApi
from common.ids import public_id
from tests.billing.money import START, UNIT, Source, at, grant, settle

pytestmark = pytest.mark.django_db


def ask(view: Any, user: User | None, query: str = "") -> Any:
    request = APIRequestFactory().get(f"/api/v1/wallet{query}")
    if user is not None:
        force_authenticate(request, user)
    return view.as_view()(request)


@pytest.fixture
def source(alice: User, hana: User) -> Source:
    grant(alice, 100 * UNIT)
    source = Source(alice, hana).start()
    source.run(START, at(hours=1, seconds=100))
    settle(at(hours=1, seconds=100))
    return source


def test_the_wallet_in_decimal_strings(source: Source) -> None:
    with time_machine.travel(at(hours=1, seconds=100), tick=False):
        reply = ask(WalletApi, source.payer)
    assert reply.data == {
        "currency": "USD",
        "balance": "96.94",
        "accrued": "0.085",
        "live_balance": "96.855",
        "held": "3.06",
        "spendable": "93.88",
        "hourly_rate": "3.06",
        "runway_hours": 31.7,
        "standing": {"state": "good", "since": None, "next_state_at": None},
    }


def test_the_entries_newest_first(source: Source) -> None:
    results = ask(WalletEntriesApi, source.payer).data["results"]
    charge, credit = results
    assert (charge["what"], charge["amount"], charge["balance_after"]) == ("2 × RTX 4090", "-3.06", "96.94")
    assert (charge["seconds"], charge["hourly_rate"], charge["kind"]) == (3600.0, "3.06", "charge")
    assert (charge["source_kind"], charge["source_id"]) == ("instance", public_id("inst", source.key))
    assert (credit["amount"], credit["hourly_rate"], credit["period_from"]) == ("100.00", None, None)


def test_pages_by_cursor_have_running_balances(source: Source) -> None:
    for _ in range(5):
        grant(source.payer, UNIT)
    whole = ask(WalletEntriesApi, source.payer).data["results"]
    page = ask(WalletEntriesApi, source.payer, "?limit=3").data
    walked = list(page["results"])
    while page["next"]:
        page = ask(WalletEntriesApi, source.payer, "?" + page["next"].partition("?")[2]).data
        walked += page["results"]
    assert walked == whole
    assert len(whole) == 7
    assert page["previous"] is None


def test_others_see_their_own_wallet_only(source: Source, bob: User) -> None:
    assert ask(WalletApi, bob).data["balance"] == "0.00"
    assert ask(WalletEntriesApi, bob).data["results"] == []
    assert ask(WalletEntriesApi, source.payee).data["results"] == []  # earnings are no renter's entries


@pytest.mark.parametrize("path", ["/api/v1/wallet", "/api/v1/wallet/entries"])
def test_over_http_by_session_token_scope_and_stranger(source: Source, path: str) -> None:
    session = Client()
    session.force_login(source.payer)
    assert session.get(path).status_code == 200
    assert APIClient().get(path).status_code == 401
    for scopes, status in ((["billing:read"], 200), (["keys:read"], 403)):
        _, text = issue_token(user=source.payer, name="t", scopes=scopes)
        assert APIClient().get(path, HTTP_AUTHORIZATION=f"Bearer {text}").status_code == status
    assert session.post(path).status_code in (403, 405)
