"""The thread that keeps the copy young: searches find it fresh without asking, and it never puts back what is older."""

import random
import threading
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from marketplace.models import Offer
from marketplace.search.index import snapshot
from marketplace.search.index.sort_orders import SortedSlots
from marketplace.search.language.fields import OfferQuery
from marketplace.search.selectors import offer_page_json
from tests.marketplace.search.seeded import EMPTY_OFFERS, seed_market
from tests.roles import as_owner
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE_S = 30
# No search of a test lasts so long that it would look for itself.
OLD_ENOUGH_MS = 100_000
EVERYTHING = OfferQuery(limit=200)
THREAD = "market-refresher"
_CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


@pytest.fixture
def quick(hana: User, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A market whose copy may be old, and a thread that does not wait for that."""
    seed_market(random.Random(1), hana, 60)
    settings.MARKET_MAX_AGE_MS = OLD_ENOUGH_MS
    monkeypatch.setattr("marketplace.search.index.refresh_thread.STEP", 5 / OLD_ENOUGH_MS)


def total() -> int:
    return offer_page_json(OfferQuery())[3]


def thread() -> threading.Thread | None:
    return next((each for each in threading.enumerate() if each.name == THREAD), None)


@pytest.mark.usefixtures("quick")
def test_a_search_finds_what_changed_without_a_question() -> None:
    assert total() > 0
    Offer.objects.update(gpu_free=0)
    with CaptureQueriesContext(connection) as queries:
        wait_until("the change is seen", lambda: total() == 0)
    assert queries.captured_queries == []


@pytest.mark.usefixtures("quick")
def test_the_walks_of_every_order_are_repaired_beside_the_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    sorts, moved, by = ("price", "-value", "-newest", "vram"), SortedSlots.moved, list[str]()

    def noted(walk: SortedSlots, *arguments: Any) -> SortedSlots:
        by.append(threading.current_thread().name)
        return moved(walk, *arguments)

    for sort in sorts:
        offer_page_json(OfferQuery(sort=sort))
    monkeypatch.setattr(SortedSlots, "moved", noted)
    shift = timedelta(days=1)
    Offer.objects.update(price_micros=F("price_micros") * 2, vram_mb=F("vram_mb") + 7, created_at=F("created_at") - shift)
    wait_until("every walk is repaired", lambda: len(by) >= len(sorts))
    seen = [offer_page_json(OfferQuery(sort=sort)) for sort in sorts]
    assert by == [THREAD] * len(sorts)
    snapshot.reset_snapshot()
    assert seen == [offer_page_json(OfferQuery(sort=sort)) for sort in sorts]


@pytest.mark.usefixtures("quick")
def test_what_was_shown_and_changed_is_made_anew_by_the_next_search_in_one_statement() -> None:
    before = offer_page_json(EVERYTHING)[0]
    Offer.objects.update(driver="changed")

    def is_known() -> bool:
        with snapshot.open_snapshot() as store:
            return not store.bodies

    wait_until("the copy knows that they changed", is_known)
    with CaptureQueriesContext(connection) as queries:
        page = offer_page_json(EVERYTHING)[0]
        assert offer_page_json(EVERYTHING)[0] == page
    assert len(queries.captured_queries) == 1
    snapshot.reset_snapshot()
    assert before != page == offer_page_json(EVERYTHING)[0]


def test_it_ends_with_the_searches_and_leaves_no_connection(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    others = partial(_count, _CONNECTIONS)
    assert (thread(), others()) == (None, 0)
    total()
    wait_until("the thread has a connection", lambda: others() == 1)
    monkeypatch.setattr("marketplace.search.index.refresh_thread.IDLE_S", 0.0)
    wait_until("the thread and its connection end", lambda: thread() is None and others() == 0)
    monkeypatch.undo()
    total()
    assert thread() is not None


@pytest.mark.usefixtures("quick")
def test_nothing_older_is_written_over_what_a_search_read_meanwhile(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has read rows and is held up; a search that must be exact reads newer ones."""
    read, go_on, rows = threading.Event(), threading.Event(), snapshot._rows

    def held_up(where: str, key: Any) -> Any:
        found = rows(where, key)
        if threading.current_thread().name == THREAD:
            read.set()
            assert go_on.wait(PATIENCE_S)
        return found

    monkeypatch.setattr(snapshot, "_rows", held_up)
    total()
    Offer.objects.update(gpu_free=0)
    assert read.wait(PATIENCE_S)
    Offer.objects.update(gpu_free=1)
    settings.MARKET_MAX_AGE_MS = 0
    assert total() == Offer.objects.count()
    settings.MARKET_MAX_AGE_MS = OLD_ENOUGH_MS
    monkeypatch.setattr("marketplace.search.index.refresh_thread.IDLE_S", 0.0)
    go_on.set()
    wait_until("the thread ends", lambda: thread() is None)
    assert total() == Offer.objects.count()


@pytest.mark.usefixtures("quick")
def test_a_lost_connection_ends_it_and_the_next_search_begins_another(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    total()
    first = thread()
    assert first is not None
    with monkeypatch.context() as broken:
        broken.setattr(
            snapshot, "_LOOK", "SELECT set_config('role', 'none', false), pg_terminate_backend(pg_backend_pid()), %s, %s"
        )
        wait_until("the thread ends", lambda: not first.is_alive())
    assert "is not kept young for now" in caplog.text
    Offer.objects.update(gpu_free=0)
    wait_until("the change is seen", lambda: total() == 0)


@pytest.mark.usefixtures("quick")
def test_a_table_that_was_emptied_is_seen() -> None:
    total()
    with as_owner(), connection.cursor() as cursor:
        cursor.execute(EMPTY_OFFERS)
    wait_until("the change is seen", lambda: total() == 0)


def test_exact_searches_begin_none(hana: User) -> None:
    seed_market(random.Random(1), hana, 3)
    total()
    assert thread() is None


def _count(query: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return int(cursor.fetchone()[0])
