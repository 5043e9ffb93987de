"""A team's money through the API: transfers once for each key, and spending for those who may see it."""

import json
from typing import Any

import pytest
from django.test import Client

from accounts.constants import SCOPES
from accounts.models import Membership, Team, User
from accounts.teams.services import create_team
from accounts.tokens.services import issue_token
from billing.models import Posting
from common import clock
from common.ids import public_id
from tests.billing.money import UNIT, assert_sound, pay_in, wallet


@pytest.fixture
def team(alice: User, bob: User) -> Team:
    found = create_team(user=alice, name="Lab")
    Membership.objects.create(team=found, user=bob, email=bob.email, joined_at=clock.now())
    pay_in(alice, 10 * UNIT)
    return found


def ask(user: User, method: str, path: str, body: object = None, key: str = "") -> Any:
    _token, text = issue_token(user=user, name="x", scopes=list(SCOPES))
    headers = {"Authorization": f"Bearer {text}"} | ({"Idempotency-Key": key} if key else {})
    return Client().generic(method, f"/api/v1{path}", json.dumps(body), content_type="application/json", headers=headers)


def transfer(sender: User, team: Team, to: User, amount: str, *, key: str = "", query: str = "") -> Any:
    body = {"to": public_id("user", to.pk), "amount": amount, "memo": "for the run"}
    return ask(sender, "POST", f"/teams/{public_id('team', team.pk)}/transfers{query}", body, key)


def test_a_repeated_transfer_moves_money_once(team: Team, alice: User, bob: User) -> None:
    first, again = (transfer(alice, team, bob, "4.25", key="k") for _ in range(2))
    assert (first.status_code, again.content) == (201, first.content)
    assert first.json()["amount"] == "4.25"
    assert (wallet(alice).balance_micros, wallet(bob).balance_micros) == (5_750_000, 4_250_000)
    assert transfer(alice, team, bob, "4.26", key="k").json()["code"] == "idempotency_conflict"
    entries = ask(bob, "GET", "/wallet/entries").json()["results"]
    assert [entry["amount"] for entry in entries] == ["4.25"]
    assert_sound()


def test_a_rehearsal_moves_nothing(team: Team, alice: User, bob: User) -> None:
    assert transfer(alice, team, bob, "4", query="?dry_run=true").status_code == 200
    assert not Posting.objects.filter(kind="transfer").exists()


@pytest.mark.parametrize(
    ("amount", "answer"),
    [("10.000001", (402, "insufficient_funds")), ("0", (400, "invalid_input")), ("much", (400, "invalid_input"))],
)
def test_what_is_refused(team: Team, alice: User, bob: User, amount: str, answer: tuple[int, str]) -> None:
    reply = transfer(alice, team, bob, amount)
    assert (reply.status_code, reply.json()["code"]) == answer


def test_not_to_oneself_nor_outside(team: Team, alice: User, mallory: User) -> None:
    assert transfer(alice, team, alice, "1").json()["code"] == "not_transferable"
    assert transfer(alice, team, mallory, "1").status_code == 404
    assert transfer(mallory, team, alice, "1").status_code == 404


def test_owners_see_everybodys_spending(team: Team, alice: User, bob: User, mallory: User) -> None:
    path = f"/teams/{public_id('team', team.pk)}/spending"
    assert [row["email"] for row in ask(alice, "GET", path).json()] == [alice.email, bob.email]
    assert ask(bob, "GET", f"{path}?month=2026-11").json() == [
        {"user_id": public_id("user", bob.pk), "email": bob.email, "spent": "0.00"}
    ]
    assert ask(bob, "GET", f"{path}?month=2026-13").status_code == 400
    assert ask(mallory, "GET", path).status_code == 404
