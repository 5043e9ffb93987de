"""What is for signed-in people is stored nowhere: every address of the console, pages and files, is asked."""

import re
from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from accounts.models import User

pytestmark = pytest.mark.django_db
VALUES = {"int": "1", "uuid": "0195510a-8a3b-7724-a6d9-867a7d713a1b"}
APART = ("api/v1/", "agent/v1/", "healthz", "readyz", "metrics")  # programs': the lane and the health checks


def addresses(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[str]:
    """Each address, with some value in each place."""
    for entry in patterns:
        route = prefix + str(entry.pattern)
        if route.startswith(APART):
            continue
        if isinstance(entry, URLResolver):
            yield from addresses(entry.url_patterns, route)
        elif "(?" not in route and "^" not in route:
            yield "/" + re.sub(r"<(?:(\w+):)?\w+>", lambda place: VALUES.get(place[1] or "str", "x1"), route)


ALL = sorted(set(addresses(get_resolver().url_patterns)))


def test_there_are_many() -> None:
    assert len(ALL) > 100
    assert {"/settings/tokens", "/settings/log.csv", "/wallet/statement", "/instances", "/admin/"} <= set(ALL)


@pytest.mark.parametrize(("who", "below"), [("alice", "/"), ("hana", "/host-panel/"), ("stella", "/admin/")])
def test_no_answer_to_a_signed_in_person_is_stored(who: str, below: str, request: pytest.FixtureRequest) -> None:
    user: User = request.getfixturevalue(who)
    stored = {}
    for path in filter(lambda path: path.startswith(below), ALL):
        client = Client(raise_request_exception=False)
        client.force_login(user)
        for method in (client.get, client.post):
            kept = method(path).headers.get("Cache-Control", "")
            if "no-store" not in kept:
                stored[path] = kept
    assert stored == {}


def test_the_answer_that_holds_a_new_token_is_not_stored(client: Client, alice: User) -> None:
    client.force_login(alice)
    reply = client.post("/settings/tokens", {"name": "ci", "scopes": ["keys:read"], "lifetime": "30"})
    assert "berth_" in reply.content.decode()
    assert reply.headers["Cache-Control"] == "no-store, private"


def test_pages_for_everyone_may_be_stored(client: Client) -> None:
    assert "no-store" not in client.get("/docs").headers.get("Cache-Control", "")
