"""Every filter alone and 400 random combinations, against a loop over all offers in plain Python."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import pytest
import time_machine
from django.db.models import F

from accounts.models import User
from common.clock import now
from common.ids import public_id
from common.json import as_plain
from marketplace.hosts.offer_resources import offer_resource
from marketplace.models import Offer
from marketplace.search.index.facets import FacetChoice
from marketplace.search.language.fields import TERMS, Condition, OfferQuery, Op
from marketplace.search.selectors import offer_page_json, offers_like, removed_by, search_facets, search_offers
from tests.marketplace.search.oracle import Oracle, prices
from tests.marketplace.search.seeded import any_condition, any_query, seed_market
from tests.profiles import examples


@pytest.fixture
def moment() -> Iterator[datetime]:
    with time_machine.travel(now().replace(microsecond=0), tick=False):
        yield now()


@pytest.fixture
def market(hana: User, moment: datetime) -> None:
    seed_market(random.Random(3), hana, 150)
    # Some have GPUs that spot rents would give up: they can be ordered, whether others are free beside them or not.
    Offer.objects.filter(gpu_total__gt=F("gpu_free"), cpu_millis_per_gpu__lt=8_000).update(
        gpu_spot=F("gpu_total") - F("gpu_free")
    )


def check(query: OfferQuery, moment: datetime) -> int:
    """Rows, order, total, facets and removed counts are the oracle's; how many there are."""
    truth = Oracle(query, moment)
    wanted = truth.in_order()
    page = search_offers(query)
    assert [row["id"] for row in page.offers] == [offer.pk for offer in wanted[: query.limit]]
    assert page.total == len(wanted)
    assert (page.next is not None) is (len(wanted) > query.limit)
    costs = [prices(offer, query) for offer in wanted[: query.limit]]
    assert [(row["price_all_in_micros"], row["total_micros"]) for row in page.offers] == costs
    found = search_facets(query)
    assert found.total == len(wanted)
    counted = {name: {choice.value: _counted(choice) for choice in row} for name, row in found.choices.items()}
    assert counted == truth.facets()
    assert [(each.what, each.left_without) for each in removed_by(query)] == truth.removed()
    return len(wanted)


def _counted(choice: FacetChoice) -> tuple[int, int]:
    return choice.count, -1 if choice.price_min_micros is None else choice.price_min_micros


@pytest.mark.parametrize("term", TERMS)
def test_each_filter_alone(market: None, moment: datetime, term: str) -> None:
    chance = random.Random(term)
    sizes = set()
    for op in sorted(TERMS[term].ops):
        for _ in range(4):
            wishes = replace(any_query(chance), conditions=()) if chance.random() < 0.3 else OfferQuery(limit=200)
            sizes.add(check(replace(wishes, conditions=(any_condition(chance, term, op),)), moment))
    assert len(sizes) > 1


@pytest.mark.parametrize("seed", range(examples(3, long=8)))
def test_random_combinations(hana: User, moment: datetime, seed: int) -> None:
    chance = random.Random(seed)
    seed_market(chance, hana, 100)
    sizes = [check(any_query(chance), moment) for _ in range(50)]
    assert sum(size > 0 for size in sizes) > 15


def test_an_empty_market(moment: datetime, db: None) -> None:
    chance = random.Random(1)
    for _ in range(20):
        check(any_query(chance), moment)


def test_what_programs_get_is_what_the_rows_say(market: None, moment: datetime) -> None:
    chance = random.Random(5)
    for _ in range(60):
        query = any_query(chance)
        page = search_offers(query)
        body, next_page, previous, total = offer_page_json(query)
        assert (next_page, previous, total) == (page.next, page.previous, page.total)
        assert json.loads(body) == as_plain([offer_resource(row, moment) for row in page.offers])


def test_offers_are_found_by_id_in_the_order_asked_for(market: None) -> None:
    rows = search_offers(OfferQuery(limit=4)).offers
    ids = [row["id"] for row in rows[::-1]]
    assert [row["id"] for row in offers_like([ids[0], User().pk, *ids[1:]])] == ids
    assert offers_like([]) == []


def test_a_price_that_no_float_can_tell_apart(market: None, moment: datetime) -> None:
    first, second = Offer.objects.order_by("pk")[:2]
    Offer.objects.filter(pk=first.pk).update(price_micros=2**53 - 1, gpu_free=1, gpu_total=1)
    Offer.objects.filter(pk=second.pk).update(price_micros=2**53, gpu_free=1, gpu_total=1)
    exact = Decimal(2**53) / 10**6
    query = OfferQuery(conditions=(Condition("price", Op.GE, exact),), sort="-price")
    assert [row["id"] for row in search_offers(query).offers] == [second.pk]
    assert public_id("offr", second.pk) in offer_page_json(query)[0].decode()
