"""Pages by cursor: every offer once and in order, forwards and back, whatever the sort and the mode."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import User
from common.errors import InvalidInput
from marketplace.models import Offer
from marketplace.search.index import pagination, sort_orders
from marketplace.search.index.sort_orders import SortOrder
from marketplace.search.language.fields import SORTS, Condition, OfferQuery, Op
from marketplace.search.selectors import offer_page_json, search_offers
from tests.marketplace.search.seeded import seed_market

WISHES = [
    OfferQuery(),
    OfferQuery(billing_mode="reserved", term="month"),
    OfferQuery(billing_mode="tiered", conditions=(Condition("region", Op.NE, "us"),)),
    OfferQuery(billing_mode="spot", data_disk_gb=500, gpu_count=2),
]


@pytest.fixture
def market(hana: User) -> None:
    seed_market(random.Random(11), hana, 90)


def walk(query: OfferQuery) -> list[Any]:
    pages = [search_offers(query)]
    while pages[-1].next:
        pages.append(search_offers(replace(query, cursor=pages[-1].next)))
    return pages


@pytest.mark.parametrize("few", [0, 10**6], ids=["walked", "sorted"])
@pytest.mark.parametrize("sort", [sign + name for name in SORTS for sign in ("", "-")])
def test_pages_hold_every_offer_once_and_lead_back(market: None, monkeypatch: Any, sort: str, few: int) -> None:
    monkeypatch.setattr(pagination, "_FEW", few)
    monkeypatch.setattr(pagination, "_CHUNK", 3)
    for wishes in WISHES:
        query = replace(wishes, sort=sort, limit=7)
        whole = [row["id"] for row in search_offers(replace(query, limit=200)).offers]
        pages = walk(query)
        assert [row["id"] for page in pages for row in page.offers] == whole
        assert {page.total for page in pages} == {len(whole)}
        assert pages[0].previous is None
        for earlier, later in zip(pages[-2::-1], pages[:0:-1], strict=True):
            back = search_offers(replace(query, cursor=later.previous))
            assert back.offers == earlier.offers
            assert (back.previous is None) is (earlier is pages[0])
            assert back.next == earlier.next


@pytest.mark.parametrize("price", [1, 2**41, 2**53])
def test_equal_keys_of_any_size(market: None, price: int) -> None:
    """Above 2**40 a key and a rank no longer share 63 bits: then both are sorted by."""
    Offer.objects.update(price_micros=price, disk_micros_gb_day=0, disk_free_gb=60, gpu_free=1, gpu_total=1)
    for sort in ("price", "-price", "gpu_free", "-gpu_free"):
        query = OfferQuery(data_disk_gb=60, sort=sort, limit=13)
        found = [row["id"] for page in walk(query) for row in page.offers]
        assert found == list(Offer.objects.order_by("-pk" if sort[0] == "-" else "pk").values_list("pk", flat=True))


def test_paging_survives_a_market_that_moves(market: None) -> None:
    """Neither what leaves nor what comes in makes another offer be lost or shown twice."""
    Offer.objects.filter(price_micros=0).update(price_micros=1)  # so that what comes to cost nothing goes before all
    first = search_offers(OfferQuery(limit=10))
    rest = [row["id"] for row in search_offers(OfferQuery(limit=200, cursor=first.next)).offers]
    Offer.objects.filter(pk__in=[first.offers[-1]["id"], rest[3]]).update(gpu_free=0)
    Offer.objects.filter(pk=rest[5]).update(price_micros=0)
    second = [row["id"] for row in search_offers(OfferQuery(limit=200, cursor=first.next)).offers]
    assert second == [each for place, each in enumerate(rest) if place not in (3, 5)]
    assert search_offers(OfferQuery(limit=10, cursor=first.next)).previous


@pytest.mark.parametrize("cursor", ["x", "", "W10", "W1wicHJpY2VcIiwxLFwi"])
def test_a_forged_cursor_is_refused(market: None, cursor: str) -> None:
    if cursor:
        with pytest.raises(InvalidInput):
            search_offers(OfferQuery(cursor=cursor))
    after = search_offers(OfferQuery(limit=1)).next
    with pytest.raises(InvalidInput, match="not one that this list gave out"):
        offer_page_json(OfferQuery(cursor=after, sort="-value"))


def ids_of(count: int) -> Any:
    """Ids that begin alike and partly end in zeros, as numpy's bytes must bear."""
    keys = [(number % 7).to_bytes(1) + number.to_bytes(4) + b"\0" * 11 for number in range(count)]
    return np.array(random.Random(count).sample(keys, count), "S16")


@given(
    rounds=st.lists(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), max_size=6), min_size=1, max_size=6),
    growth=st.lists(st.integers(0, 4), min_size=6, max_size=6),
    share=st.sampled_from([0, 10**6]),
    ahead=st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_a_repaired_order_is_the_sorted_one(rounds: Any, growth: list[int], share: int, ahead: list[bool]) -> None:
    """Property: after any changes and arrivals, the walk is what sorting by key and id gives, made beforehand or not."""
    size, ids, keys = 20, ids_of(60), np.arange(60) % 4

    def ranks() -> Any:
        return np.argsort(np.argsort(ids[:size])).astype(np.int32)

    order = SortOrder({"key": keys}, frozenset(), lambda rows, slots: rows["key"][slots])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sort_orders, "REBUILD_LEAST", 0)
        patch.setattr(sort_orders, "REBUILD_SHARE", share)
        order.repair(ids[:size], ranks)
        for changes, more, beforehand in zip(rounds, growth, ahead, strict=False):
            moved = np.unique([*range(size, size + more), *(slot % (size + more) for slot, _ in changes)]).astype(np.intp)
            size += more
            for slot, key in changes:
                keys[slot % size] = key
            if beforehand and len(moved):
                following = order.next_walk({"key": keys[moved]}, np.ones(len(moved), bool), moved, ranks())
                assert order.adopt(following)
                assert not order.adopt(following), "it follows upon another walk"
            elif len(moved):
                order.touch(moved)
            order.repair(ids[:size], ranks)
            wanted = sorted(range(size), key=lambda slot: (keys[slot], bytes(ids[slot])))
            assert order.walk(ids[:size], None, downwards=False).tolist() == wanted
            middle = wanted[size // 2]
            position = int(keys[middle]), bytes(ids[middle])
            assert order.walk(ids[:size], position, downwards=False).tolist() == wanted[size // 2 + 1 :]
            assert order.walk(ids[:size], position, downwards=True).tolist() == wanted[: size // 2][::-1]
            some = np.array(sorted(wanted[::3]))
            below = [slot for slot in wanted[: size // 2][::-1] if slot in some]
            assert order.sorted(some, position, downwards=True, ids=ids[:size]).tolist() == below
