"""The copy in memory follows the table: changes, openings, deletions, rollbacks, other transactions, another server."""

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from django.db import OperationalError, connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from marketplace.models import Host, Offer
from marketplace.search.index import column_store as store_of_offers
from marketplace.search.index import snapshot, sort_orders
from marketplace.search.index.binary_layout import TERMS_SOLD
from marketplace.search.index.column_store import ColumnStore
from marketplace.search.language.fields import SORTS, OfferQuery
from marketplace.search.selectors import offer_page_json, search_facets, search_offers
from tests.marketplace.search.seeded import EMPTY_OFFERS, offer_columns, seed_market
from tests.marketplace.shapes import enrolled, leased, offer_of
from tests.roles import as_owner

EVERYTHING = OfferQuery()
SORT_NAMES = [sign + name for name in SORTS for sign in ("", "-")]
MODES = [OfferQuery(), OfferQuery(billing_mode="spot"), *(OfferQuery(billing_mode="reserved", term=t) for t in TERMS_SOLD)]


def found(query: OfferQuery = EVERYTHING) -> list[UUID]:
    return [row["id"] for row in search_offers(replace(query, limit=1_000)).offers]


def open_now() -> list[UUID]:
    return list(Offer.objects.filter(gpu_free__gt=0).order_by("price_micros", "pk").values_list("pk", flat=True))


def rows_of(store: ColumnStore) -> dict[bytes, tuple[Any, ...]]:
    """Everything that the store says of its open offers, whatever slots and codes it uses."""
    words = {name: store.words[name].texts for name in ("gpu", "region", "runtime", "disk", "series", "architecture")}
    rows = {}
    for slot in np.flatnonzero(store["count"] > 0).tolist():
        row = {name: column[slot] for name, column in store._columns.items()}
        for name, texts in words.items():
            row[name] = texts[row[name]]
        for name, combination in store.combinations.items():
            members = {each: int(column[row[name]]) for each, column in combination.members.items()}
            row[name] = tuple(store.words[w].texts[c] if w in store.words else c for w, c in members.items())
        rows[bytes(row["id"])] = tuple(sorted((name, str(each)) for name, each in row.items()))
    return rows


def is_a_fresh_load() -> None:
    """What has been kept up to date equals what is read anew: rows, every order, and the programs' pages."""
    with snapshot.open_snapshot() as store:
        kept = rows_of(store)
    queries = [replace(MODES[place % len(MODES)], sort=sort, limit=200) for place, sort in enumerate(SORT_NAMES)]
    answers = [offer_page_json(query) for query in queries]
    facets = search_facets(OfferQuery())
    snapshot.reset_snapshot()
    with snapshot.open_snapshot() as store:
        assert kept == rows_of(store)
    assert answers == [offer_page_json(query) for query in queries]
    assert facets == search_facets(OfferQuery())


def change(chance: random.Random, ids: list[UUID]) -> None:
    """One random change of the market, written past the services."""
    some = chance.sample(ids, min(len(ids), chance.choice([1, 1, 3, 20])))
    rows = Offer.objects.filter(pk__in=some)
    match chance.choice(["free", "free", "free", "price", "facts", "delete", "create", "rollback", "savepoint"]):
        case "free":
            rows.update(gpu_free=chance.choice([0, 0, 1]))
        case "price":
            rows.update(price_micros=chance.choice([1, 500_000, 2_000_000]), version=9)
        case "facts":
            for row in rows:
                Offer.objects.filter(pk=row.pk).update(**offer_columns(chance))
        case "delete":
            rows.filter(pk__in=some[:2]).delete()
        case "create":
            host = Host.objects.order_by("?")[0]
            ids.append(Offer.objects.create(host=host, gpu_model=f"m-{len(ids)}", **offer_columns(chance)).pk)
        case _:
            taken_back(chance, rows)


def taken_back(chance: random.Random, rows: Any) -> None:
    sid = transaction.savepoint() if connection.in_atomic_block else None
    rows.update(gpu_free=1, gpu_total=8, price_micros=chance.randint(1, 9))
    if chance.random() < 0.5:
        found()
    if chance.random() < 0.3:
        rows.delete()
        found()
    if sid is not None:
        transaction.savepoint_rollback(sid)


@pytest.fixture(params=[True, False], ids=["repaired", "sorted anew"])
def repaired(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways in which an order is brought up to date, whatever the size of the market."""
    if request.param:
        monkeypatch.setattr(sort_orders, "REBUILD_LEAST", 0)
        monkeypatch.setattr(sort_orders, "REBUILD_SHARE", 0)


@pytest.mark.parametrize("seed", range(3))
def test_random_changes_in_one_transaction(hana: User, repaired: None, seed: int) -> None:
    chance = random.Random(seed)
    ids = seed_market(chance, hana, 120)
    found()
    for _ in range(12):
        for _ in range(chance.randint(1, 4)):
            change(chance, ids)
        if chance.random() < 0.5:
            assert found() == open_now()
        else:
            is_a_fresh_load()
    is_a_fresh_load()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", range(2))
def test_random_changes_that_commit(hana: User, repaired: None, seed: int) -> None:
    chance = random.Random(seed)
    ids = seed_market(chance, hana, 120)
    found()
    for _ in range(15):
        with transaction.atomic():
            change(chance, ids)
            found()
            transaction.set_rollback(chance.random() < 0.4)
        if chance.random() < 0.5:
            assert found() == open_now()
        else:
            is_a_fresh_load()
    is_a_fresh_load()


@pytest.mark.django_db(transaction=True)
def test_a_rented_offer_is_gone_at_once_and_comes_back(hana: User) -> None:
    offer = offer_of(enrolled(hana, 2))
    assert found() == [offer.pk]
    leased(offer, 2)
    assert found() == []
    assert offer_page_json(OfferQuery()) == (b"[]", None, None, 0)
    Offer.objects.filter(pk=offer.pk).update(gpu_free=1)
    assert found() == [offer.pk]
    assert b'"gpu_free":1' in offer_page_json(OfferQuery())[0]


@pytest.mark.django_db(transaction=True)
def test_a_host_that_is_deleted_takes_its_offers_along(hana: User) -> None:
    seed_market(random.Random(1), hana, 30)
    before = found()
    host = Offer.objects.get(pk=before[0]).host
    host.delete()
    assert found() == open_now()
    assert len(before) > len(found()) > 0


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("commits", [True, False])
def test_an_emptied_table(hana: User, commits: bool) -> None:
    seed_market(random.Random(1), hana, 30)
    before = found()
    with transaction.atomic():
        with as_owner(), connection.cursor() as cursor:
            cursor.execute(EMPTY_OFFERS)
        assert found() == []
        assert found() == []
        transaction.set_rollback(not commits)
    assert found() == ([] if commits else before)
    is_a_fresh_load()


@pytest.mark.django_db(transaction=True)
def test_a_quiet_market_costs_one_small_question(hana: User, django_assert_num_queries: Callable[[int], Any]) -> None:
    seed_market(random.Random(1), hana, 30)
    offer_page_json(OfferQuery())
    with CaptureQueriesContext(connection) as queries:
        offer_page_json(OfferQuery())
        search_facets(OfferQuery())
    assert [query["sql"].count("look_at_offers") for query in queries.captured_queries] == [1, 1]


@pytest.mark.django_db(transaction=True)
def test_it_may_be_older_where_that_is_allowed(hana: User, settings: Any) -> None:
    seed_market(random.Random(1), hana, 30)
    before = found()
    settings.MARKET_MAX_AGE_MS = 60_000
    Offer.objects.update(gpu_free=0)
    assert offer_page_json(OfferQuery())[3] == len(before)
    settings.MARKET_MAX_AGE_MS = 0
    assert offer_page_json(OfferQuery())[3] == 0


@pytest.mark.django_db(transaction=True)
def test_its_age_counts_from_before_the_look(hana: User, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading what changed may take long, and what is committed meanwhile is not in it."""
    seed_market(random.Random(1), hana, 30)
    monkeypatch.setattr("marketplace.search.index.snapshot.Refresher.record_search", lambda self: None)
    passed, rows = [1_000.0], snapshot._rows

    def slowly(*arguments: Any) -> Any:
        passed[0] += 7
        return rows(*arguments)

    monkeypatch.setattr("marketplace.search.index.snapshot.time.monotonic", lambda: passed[0])
    monkeypatch.setattr(snapshot, "_rows", slowly)
    settings.MARKET_MAX_AGE_MS = 5_000
    snapshot.reset_snapshot()
    assert found()
    Offer.objects.update(version=8)
    passed[0] += 6
    assert found()
    Offer.objects.update(gpu_free=0)
    assert found() == []


@pytest.mark.django_db(transaction=True)
def test_changed_offers_are_read_together(hana: User, settings: Any) -> None:
    """By the search that found out, whatever its page shows; the pages after it ask for nothing."""
    seed_market(random.Random(1), hana, 60)
    everything, first = OfferQuery(limit=200), OfferQuery(limit=1)
    Offer.objects.update(gpu_free=F("gpu_total"))
    offer_page_json(everything)
    Offer.objects.update(driver="changed", version=7)
    offer_page_json(first)
    settings.MARKET_MAX_AGE_MS = 60_000
    with CaptureQueriesContext(connection) as queries:
        page, _, _, total = offer_page_json(everything)
    assert queries.captured_queries == []
    assert page.count(b'"driver":"changed"') == total == Offer.objects.filter(gpu_free__gt=0).count()


@pytest.mark.django_db(transaction=True)
def test_changed_offers_that_nobody_was_shown_are_not_read(hana: User) -> None:
    seed_market(random.Random(1), hana, 60)
    first = OfferQuery(limit=1)
    offer_page_json(first)
    Offer.objects.update(driver="changed", version=7)
    offer_page_json(first)
    with snapshot.open_snapshot() as store:
        assert len(store.bodies) == 1


@pytest.mark.django_db(transaction=True)
def test_many_changes_are_read_as_they_are_shown(hana: User, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_of_offers, "NEWS_MAX", 3)
    seed_market(random.Random(1), hana, 60)
    offer_page_json(OfferQuery(limit=200))
    Offer.objects.update(gpu_free=F("gpu_total"), driver="changed", version=7)
    with snapshot.open_snapshot() as store:
        assert not store.news
    page, _, _, total = offer_page_json(OfferQuery(limit=200))
    assert page.count(b'"driver":"changed"') == total


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("forged", [{"server": "another"}, {"since": 2**50}])
def test_another_server_is_read_from_the_start(hana: User, forged: dict[str, Any]) -> None:
    """A database put back from a dump or a replica that took over: nothing that was known of the old one holds."""
    seed_market(random.Random(1), hana, 30)
    found()
    copy = snapshot._COPY
    assert copy._last is not None
    with as_owner(), connection.cursor() as cursor:  # as if it had never been stamped
        cursor.execute("ALTER TABLE marketplace_offer DISABLE TRIGGER stamp_offer")
        cursor.execute("UPDATE marketplace_offer SET gpu_free = 0")
        cursor.execute("ALTER TABLE marketplace_offer ENABLE TRIGGER stamp_offer")
    copy._last = replace(copy._last, **forged)
    assert found() == []


@pytest.mark.django_db(transaction=True)
def test_rows_stamped_by_the_server_that_a_dump_came_from(hana: User) -> None:
    """Their numbers lie ahead of this server's: they are read once, not at every look, and their changes are seen."""
    ids = seed_market(random.Random(1), hana, 30)
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE marketplace_offer DISABLE TRIGGER stamp_offer")
        cursor.execute("UPDATE marketplace_offer SET changed_xid = %s", [2**50])
        cursor.execute("ALTER TABLE marketplace_offer ENABLE TRIGGER stamp_offer")
    assert found() == open_now()
    last = snapshot._COPY._last
    assert last is not None
    assert snapshot._query_changes(last.since, last.running).changed is False
    Offer.objects.filter(pk=ids[0]).update(gpu_free=1, gpu_total=1, price_micros=7)
    assert found() == open_now()


def test_a_failure_half_way_makes_it_start_anew(hana: User, monkeypatch: pytest.MonkeyPatch) -> None:
    seed_market(random.Random(1), hana, 30)
    before = found()
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(ColumnStore, "slim", lambda self: 1 / 0)
        found()
    assert found() == before


@pytest.mark.django_db(transaction=True)
def test_searches_that_wait_for_one_in_vain_do_not_wait_anew(hana: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock of the table: each search would hold up all that come after it for as long as a lock may be waited for."""
    holding, met, requested = threading.Event(), threading.Event(), []

    def refuse(*_: object) -> Any:
        requested.append(threading.get_ident())
        holding.set()
        assert met.wait(20)
        raise OperationalError("canceling statement due to lock timeout")

    def search() -> str:
        try:
            with snapshot.open_snapshot():
                return "found"
        except OperationalError as error:
            return str(error)

    snapshot.reset_snapshot()
    monkeypatch.setattr(snapshot, "_query_changes", refuse)
    with ThreadPoolExecutor(4) as threads:
        first = threads.submit(search)
        assert holding.wait(20)
        others = [threads.submit(search) for _ in range(3)]
        time.sleep(0.3)  # until they wait
        met.set()
        assert first.result(20) == "canceling statement due to lock timeout"
        assert {other.result(20) for other in others} == {"a search before this one waited for the table in vain"}
    assert len(requested) == 1
    monkeypatch.undo()
    assert found() == [], "who comes later asks again"


def test_slots_of_closed_offers_are_given_up_when_they_are_many(hana: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marketplace.search.index.column_store._SPARE", 10)
    ids = seed_market(random.Random(1), hana, 90)
    Offer.objects.update(gpu_free=1)
    found()
    Offer.objects.filter(pk__in=ids[:60]).update(gpu_free=0)
    assert found() == open_now()
    with snapshot.open_snapshot() as store:
        assert store.size == 30
    is_a_fresh_load()
    Offer.objects.filter(pk__in=ids[:60]).update(gpu_free=1)
    is_a_fresh_load()


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_the_server_ended_is_made_anew(hana: User) -> None:
    seed_market(random.Random(1), hana, 30)
    before = found()
    with connection.cursor() as cursor, pytest.raises(OperationalError):
        cursor.execute("SELECT set_config('role', 'none', false), pg_terminate_backend(pg_backend_pid())")
    assert found() == before
