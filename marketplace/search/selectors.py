"""Reads of the market by searches: pages of offers, counts for each choice, and excluded offers."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from common import clock
from common.json import to_json
from common.money import format_money
from marketplace.hosts.offer_resources import standing_offer
from marketplace.leasing.offer_selectors import OfferPage, rows_of
from marketplace.search.index.binary_layout import FOR_EVER
from marketplace.search.index.column_store import THOUSANDTHS, ColumnStore
from marketplace.search.index.executor import Removed, SearchExecution
from marketplace.search.index.facets import Facets, facets_of
from marketplace.search.index.pagination import page_of
from marketplace.search.index.price_columns import tflops_per_price
from marketplace.search.index.snapshot import open_snapshot
from marketplace.search.language.fields import Condition, OfferQuery

_US_PER_HOUR: Final = 3_600_000_000


def search_offers(query: OfferQuery) -> OfferPage:
    """Return a page of open offers.

    Raises:
        InvalidInput: the cursor is not from this list.
    """
    with _search(query) as search:
        page = page_of(search)
        keys = search.store.uuids(page.slots)
        prices, totals = (column.tolist() for column in search.price_columns.at(page.slots))
    return OfferPage(_offers(keys, prices, totals), page.next, page.previous, search.total)


def search_several(queries: Sequence[OfferQuery]) -> list[OfferPage]:
    """Return `search_offers` for each search, from one read of the table and one of the offers.

    Raises:
        InvalidInput: a cursor is not from this list.
    """
    if not queries:
        return []
    found = []
    with open_snapshot() as store:
        now = clock.now()
        for query in queries:
            search = SearchExecution(store, query, now)
            page = page_of(search)
            costs = [column.tolist() for column in search.price_columns.at(page.slots)]
            found.append((page, store.uuids(page.slots), costs, search.total))
    rows = rows_of(list({key for _, keys, _, _ in found for key in keys}))
    return [OfferPage(_priced(rows, keys, *costs), page.next, page.previous, total) for page, keys, costs, total in found]


def offer_page_json(query: OfferQuery) -> tuple[bytes, str | None, str | None, int]:
    """Return `search_offers` for programs as (JSON array of offers, next, previous, total).

    No object per row is created.
    """
    with _search(query) as search:
        page = page_of(search)
        bodies = _bodies(search.store, page.slots)
        tails = _tails(search, page.slots)
        parts = [bodies[slot] + tail for slot, tail in zip(page.slots, tails, strict=True) if slot in bodies]
    return b"[" + b",".join(parts) + b"]", page.next, page.previous, search.total


@dataclass(frozen=True)
class MarketView:
    """Contents of the market's page for one search.

    `enough` is the number of offers that each extra condition would match.
    """

    page: OfferPage
    facets: Facets
    removed: list[Removed]
    enough: Mapping[Condition, int]


def search_market(query: OfferQuery, extra: Sequence[Condition]) -> MarketView:
    """Return the contents of the market's page, from one read of the table, so that its counts agree.

    Like a facet, an extra condition replaces whatever is asked about its own term.

    Raises:
        InvalidInput: the cursor is not valid.
    """
    with _search(query) as search:
        page = page_of(search)
        keys = search.store.uuids(page.slots)
        prices, totals = (column.tolist() for column in search.price_columns.at(page.slots))
        facets, removed = facets_of(search), search.removed()
        enough = {each: search.count_instead(each) for each in extra}
    offers = OfferPage(_offers(keys, prices, totals), page.next, page.previous, search.total)
    return MarketView(offers, facets, removed, enough)


def _offers(keys: Sequence[UUID], prices: Sequence[int], totals: Sequence[int]) -> list[dict[str, Any]]:
    """Return rows with their cost under the search; offers that no longer exist are left out."""
    return _priced(rows_of(keys), keys, prices, totals)


def _priced(
    found: Mapping[UUID, dict[str, Any]], keys: Sequence[UUID], prices: Sequence[int], totals: Sequence[int]
) -> list[dict[str, Any]]:
    return [
        found[key] | {"price_all_in_micros": price, "total_micros": total}
        for key, price, total in zip(keys, prices, totals, strict=True)
        if key in found
    ]


def search_facets(query: OfferQuery) -> Facets:
    """Return how many offers each choice would match, ignoring conditions on its own term."""
    with _search(query) as search:
        return facets_of(search)


def removed_by(query: OfferQuery) -> list[Removed]:
    """Return for each option and condition how many offers would match without it."""
    with _search(query) as search:
        return search.removed()


def offers_like(ids: Sequence[UUID]) -> list[dict[str, Any]]:
    """Return these offers, open or not, in the order given; those that no longer exist are left out."""
    found = rows_of(ids)
    return [found[key] for key in ids if key in found]


@contextmanager
def _search(query: OfferQuery) -> Iterator[SearchExecution]:
    with open_snapshot() as store:
        yield SearchExecution(store, query, clock.now())


def _bodies(store: ColumnStore, slots: Sequence[int]) -> dict[int, bytes]:
    """Return the part of offers' JSON that does not depend on the search, without the closing brace.

    It is kept until the offer changes. Offers that were shown before they changed are read together by the search
    that updated the copy: if each waited until it is shown again, many pages of a busy market would each have to
    read one or two of them.
    """
    store.make_room()
    missing = store.missing(slots)
    missing += set(store.pop_changed()).difference(missing)
    if missing:
        store.keep(_rendered(store.uuids(missing)))
    return store.bodies


def _rendered(keys: Sequence[UUID]) -> dict[UUID, bytes]:
    return {key: to_json(standing_offer(row))[:-1] for key, row in rows_of(keys).items()}


def _tails(search: SearchExecution, slots: Sequence[int]) -> list[bytes]:
    """Return the part of offers' JSON that depends on the search and the time."""
    columns, store = search.price_columns, search.store
    prices, totals = columns.at(slots)
    arrays = (prices, totals, tflops_per_price(store["rate"][slots], prices), store["lease_hours"][slots])
    rows = zip(*(column.tolist() for column in arrays), strict=True)
    return [
        b',"price":"%s","total":"%s","value":%s,"max_lease_hours":%s}'
        % (_money(price), _money(total), _value(worth), _hours(end, columns.now_us))
        for price, total, worth, end in rows
    ]


@lru_cache(maxsize=65_536)
def _money(micros: int) -> bytes:
    return format_money(micros).encode()


def _value(thousandths: int) -> bytes:
    return b"null" if thousandths < 0 else repr(thousandths / THOUSANDTHS).encode()


def _hours(end_us: int, now_us: int) -> bytes:
    return b"null" if end_us == FOR_EVER else b"%d" % max(0, (end_us - now_us) // _US_PER_HOUR)
