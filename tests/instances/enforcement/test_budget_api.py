"""Budgets through the API: set, read with what is spent, changed, removed; over what one may set them."""

import json
from typing import Any

import pytest
from django.test import Client

from accounts.constants import SCOPES
from accounts.models import User
from accounts.teams.services import create_team
from accounts.tokens.services import issue_token
from billing.models import Budget
from common.ids import new_uuid, public_id
from tests.instances.fake_host import FakeHost, order_running
from tests.instances.fixtures import Clock


class Api:
    """A person's requests."""

    def __init__(self, user: User, *scopes: str) -> None:
        _token, text = issue_token(user=user, name="x", scopes=scopes or list(SCOPES))
        self._client, self._token = Client(), {"Authorization": f"Bearer {text}"}

    def __call__(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        return self._client.generic(
            method, f"/api/v1{path}", json.dumps(body), content_type="application/json", headers=self._token | headers
        )

    def set(self, **fields: object) -> Any:
        return self("POST", "/budgets", fields)


@pytest.fixture
def api(rin: User) -> Api:
    return Api(rin)


def test_a_budget_shows_what_is_spent_and_set_aside(api: Api, rin: User, host: FakeHost, hours: Clock) -> None:
    """Half of the first hour of 3.60, which is set aside whole: 1.80 of 7.20 are a quarter."""
    instance = order_running(rin, host)
    subject = public_id("inst", instance.pk)
    reply = api.set(scope="instance", subject=subject, limit="7.20", hard=True, period="total")
    assert reply.status_code == 201
    for _ in range(18):
        hours.advance(seconds=100)
        host.sync()
    shown = api("GET", f"/budgets/{reply.json()['id']}").json()
    assert shown == {
        "id": reply.json()["id"],
        "scope": "instance",
        "subject": subject,
        "name": "box",
        "period": "total",
        "limit": "7.20",
        "hard": True,
        "spent": "1.80",
        "set_aside": "3.60",
        "percent": 25,
        "created_at": reply.json()["created_at"],
    }
    assert api("GET", "/budgets").json()["results"] == [shown]


def test_without_a_subject_it_is_over_oneself(api: Api, rin: User) -> None:
    shown = api.set(scope="member", limit="5").json()
    assert (shown["subject"], shown["period"], shown["hard"]) == (public_id("user", rin.pk), "month", False)
    assert api.set(scope="member", limit="6").json()["code"] == "budget_exists"
    assert api.set(scope="team", limit="6").status_code == 404, "a team has to be named"


def test_only_over_ones_own(api: Api, rin: User, bob: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    team = create_team(user=rin, name="Lab")
    other = Api(bob)
    for scope, subject in (
        ("instance", public_id("inst", instance.pk)),
        ("team", public_id("team", team.pk)),
        ("member", public_id("user", rin.pk)),
        ("member", public_id("user", new_uuid())),
    ):
        assert other.set(scope=scope, subject=subject, limit="1").status_code == 404
    assert not Budget.objects.exists()


@pytest.mark.parametrize("limit", ["0", "-1", "much", "1.0000001", "99999999999999999999"])
def test_limits_that_are_none(api: Api, limit: str) -> None:
    assert api.set(scope="member", limit=limit).status_code == 400


def test_changed_and_removed_by_its_owner_alone(api: Api, bob: User) -> None:
    path = f"/budgets/{api.set(scope='member', limit='5').json()['id']}"
    other = Api(bob)
    assert [other(method, path, {"limit": "1"}).status_code for method in ("GET", "PATCH", "DELETE")] == [404] * 3
    changed = api("PATCH", path, {"limit": "8.50", "hard": True}).json()
    assert (changed["limit"], changed["hard"]) == ("8.50", True)
    assert api("PATCH", path, {"limit": "0"}).status_code == 400
    assert api("DELETE", path).status_code == 204
    assert api("GET", path).status_code == 404


def test_repeated_and_rehearsed(api: Api) -> None:
    body = {"scope": "member", "limit": "5"}
    assert api("POST", "/budgets?dry_run=true", body).status_code == 200
    assert not Budget.objects.exists()
    first, again = (api("POST", "/budgets", body, **{"Idempotency-Key": "k"}) for _ in range(2))
    assert (first.status_code, again.content) == (201, first.content)


def test_a_token_that_reads_sets_nothing(rin: User) -> None:
    reader = Api(rin, "billing:read")
    assert reader("GET", "/budgets").status_code == 200
    assert reader.set(scope="member", limit="5").status_code == 403
