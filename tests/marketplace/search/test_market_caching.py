"""Who asks the market again: what is still true costs 304, and requests without a token are counted."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core.cache import cache
from django.test import Client

from accounts.models import User
from accounts.web.throttling import request_counter
from common import clock
from marketplace.models import Offer
from marketplace.search.index.snapshot import reset_snapshot

MINUTE = 1_800_000_000 - 1_800_000_000 % 60


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    cache.clear()
    request_counter.cache_clear()
    reset_snapshot()
    yield
    reset_snapshot()


def _ask(client: Client, path: str, **headers: str) -> Any:
    return client.get(f"/api/v1/{path}", headers=headers)


@pytest.mark.parametrize("path", ["offers", "offers/facets"])
def test_who_has_the_answer_gets_304_until_it_changes(client: Client, offer: Offer, path: str) -> None:
    first = _ask(client, path)
    assert first["Cache-Control"] == "public, max-age=0, must-revalidate"
    assert first["ETag"].startswith('W/"')
    again = _ask(client, path, **{"If-None-Match": f'"other", {first["ETag"]}'})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
    assert again["Cache-Control"] == first["Cache-Control"]
    assert "RateLimit" in again.headers
    Offer.objects.filter(pk=offer.pk).update(price_micros=1)
    changed = _ask(client, path, **{"If-None-Match": first["ETag"]})
    assert (changed.status_code, changed["ETag"] == first["ETag"]) == (200, False)


def test_the_tag_follows_the_clock_where_the_answer_does(client: Client, offer: Offer) -> None:
    Offer.objects.filter(pk=offer.pk).update(listed_until=clock.now() + timedelta(hours=5, minutes=1))
    first = _ask(client, "offers")
    assert first.json()["results"][0]["max_lease_hours"] == 5
    with time_machine.travel(clock.now() + timedelta(hours=2)):
        later = _ask(client, "offers", **{"If-None-Match": first["ETag"]})
    assert (later.status_code, later.json()["results"][0]["max_lease_hours"]) == (200, 3)


@pytest.mark.parametrize("path", ["offers", "offers/facets"])
@pytest.mark.parametrize("token", ["", "Bearer anything"])
def test_each_search_is_counted_with_a_token_and_without(
    client: Client, offer: Offer, settings: Any, path: str, token: str
) -> None:
    settings.API_RATE_ANONYMOUS = 2
    headers = {"Authorization": token} if token else {}
    with time_machine.travel(MINUTE + 10, tick=False):
        replies = [_ask(client, path, **headers) for _ in range(3)]
    assert [reply.status_code for reply in replies] == [200, 200, 429]
    assert (replies[-1]["Retry-After"], replies[-1].json()["code"]) == ("50", "throttled")


def test_searches_of_clients_of_vast_are_counted(client: Client, offer: Offer, settings: Any) -> None:
    settings.API_RATE_ANONYMOUS = 2
    with time_machine.travel(MINUTE + 10, tick=False):
        replies = [client.post("/api/v0/bundles/", {}, content_type="application/json") for _ in range(3)]
    assert [reply.status_code for reply in replies] == [200, 200, 429]
    assert (replies[-1]["Retry-After"], replies[-1].json()["error"]) == ("50", "throttled")


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
def test_searches_on_the_page_are_counted(
    client: Client, alice: User, offer: Offer, settings: Any, headers: dict[str, str]
) -> None:
    settings.API_RATE_ANONYMOUS, settings.API_RATE_USER = 2, 3
    with time_machine.travel(MINUTE + 10, tick=False):
        replies = [client.get("/market", headers=headers) for _ in range(3)]
        assert [reply.status_code for reply in replies] == [200, 200, 429]
        assert replies[-1]["Retry-After"] == "50" and "Try again in a few minutes" in replies[-1].content.decode()
        assert _ask(client, "offers").status_code == 200, "the API counts for itself"
        client.force_login(alice)
        assert [client.get("/market", headers=headers).status_code for _ in range(4)] == [200, 200, 200, 429]
    with time_machine.travel(MINUTE + 60, tick=False):
        assert client.get("/market", headers=headers).status_code == 200
