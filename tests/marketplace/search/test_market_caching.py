"""Who asks the market again: what is still true costs 304, and requests without a token are counted."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core.cache import cache
from django.test import Client

from accounts.web.throttling import request_counter
from common import clock
from marketplace.models import Offer
from marketplace.search.index.snapshot import reset_snapshot


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


def test_requests_without_a_token_are_counted(client: Client, offer: Offer, settings: Any) -> None:
    settings.API_RATE_ANONYMOUS = 2
    assert [_ask(client, "offers").status_code for _ in range(3)] == [200, 200, 429]
