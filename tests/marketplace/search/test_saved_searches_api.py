"""Kept searches over the API: made once, listed, renamed, deleted, and run again."""

from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from accounts.models import User
from accounts.tokens.services import issue_token
from marketplace.models import Offer, SavedSearch


@pytest.fixture
def client(alice: User) -> Client:
    cache.clear()
    _, text = issue_token(user=alice, name="test", scopes=["instances:read", "instances:write"])
    return Client(headers={"authorization": f"Bearer {text}"})


def _send(client: Client, method: str, path: str, body: Any = None, **headers: str) -> Any:
    return getattr(client, method)(f"/api/v1/{path}", body, content_type="application/json", headers=headers)


def _save(client: Client, name: str, line: str) -> Any:
    reply = _send(client, "post", "saved-searches", {"name": name, "line": line})
    assert reply.status_code == 201, reply.content
    return reply.json()


def test_a_kept_search_can_be_run_again(client: Client, offer: Offer) -> None:
    kept = _save(client, "cheap", "4090 count>=2 price<=2.5")
    assert kept["line"] == "count=2 gpu=rtx-4090 price<=2.5"
    assert kept["query"] == "gpu_count=2&gpu_model=rtx-4090&price_max=2.5"
    assert kept["id"].startswith("srch_")
    assert client.get(f"/api/v1/offers?{kept['query']}").json()["total"] == 1
    assert client.get(f"/api/v1/saved-searches/{kept['id']}").json() == kept


def test_the_same_order_makes_one_search(client: Client) -> None:
    body = {"name": "mine", "line": "t4"}
    first = _send(client, "post", "saved-searches", body, **{"Idempotency-Key": "k"})
    again = _send(client, "post", "saved-searches", body, **{"Idempotency-Key": "k"})
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    rehearsal = _send(client, "post", "saved-searches?dry_run=true", {"name": "other", "line": "t4"})
    assert (rehearsal.status_code, SavedSearch.objects.count()) == (200, 1)


def test_searches_are_listed_by_name_renamed_and_deleted(client: Client) -> None:
    for name in ("b", "a", "c"):
        _save(client, name, "t4")
    page = client.get("/api/v1/saved-searches?limit=2").json()
    rest = client.get(page["next"]).json()
    assert [each["name"] for each in page["results"] + rest["results"]] == ["a", "b", "c"]
    path = f"saved-searches/{page['results'][0]['id']}"
    assert _send(client, "patch", path, {"name": "z"}).json()["name"] == "z"
    assert _send(client, "patch", path, {"name": "c"}).json()["code"] == "search_name_taken"
    assert _send(client, "delete", path).status_code == 204
    assert _send(client, "delete", path).status_code == 404
    assert client.get(f"/api/v1/{path}").status_code == 404


def test_a_line_that_no_longer_reads_is_still_listed(client: Client) -> None:
    kept = _save(client, "old", "t4")
    SavedSearch.objects.update(line="colour=red")
    [shown] = client.get("/api/v1/saved-searches").json()["results"]
    assert shown == {**kept, "line": "colour=red", "query": None}


def test_faults(client: Client) -> None:
    _save(client, "mine", "t4")
    wrong = _send(client, "post", "saved-searches", {"name": "x", "line": "prise<2"})
    assert (wrong.status_code, wrong.json()["code"], wrong.json()["position"]) == (400, "search_syntax", 0)
    assert _send(client, "post", "saved-searches", {"name": "mine", "line": "l4"}).status_code == 409
    bodies: list[Any] = [{}, {"name": "x"}, {"name": "", "line": "t4"}, {"name": "x", "line": "y" * 501}, []]
    for body in bodies:
        assert _send(client, "post", "saved-searches", body).status_code == 400
