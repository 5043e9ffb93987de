"""The market in memory beside parallel writers: every answer is one the table gave, and in the end both are the same."""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction

from accounts.models import User
from common.db.transactions import use_case
from common.errors import DomainError
from marketplace.hosts.offers import set_price
from marketplace.leasing.availability import compare_offers
from marketplace.leasing.lease import lease_gpus, release_leases
from marketplace.models import Offer
from marketplace.search.index import snapshot
from marketplace.search.language.fields import OfferQuery
from marketplace.search.selectors import offer_page_json, search_facets, search_offers
from tests.marketplace.shapes import enrolled

pytestmark = pytest.mark.django_db(transaction=True)

HOSTS = 12
TURNS = 60
PATIENCE_S = 60


class Undone(Exception):
    """Makes a use case roll back."""


@pytest.fixture
def offers(hana: User) -> list[UUID]:
    for number in range(HOSTS):
        enrolled(hana, 4, name=f"rig-{number}", price=1_000_000 + number % 3)
    return list(Offer.objects.values_list("pk", flat=True))


def rent_and_release(chance: random.Random, offers: list[UUID]) -> int:
    """Rents, releases and rents that roll back at the last moment; how many leases were made."""
    held: list[UUID] = []
    made = 0
    for _ in range(TURNS):
        holder = uuid4()
        with suppress(DomainError, Undone), use_case():
            lease_gpus(offer_id=chance.choice(offers), count=chance.choice([1, 2, 4]), holder=holder, expected_version=None)
            if chance.random() < 0.2:
                offer_page_json(OfferQuery())  # sees its own write, which must not stay
                raise Undone
            held.append(holder)
            made += 1
        if held and chance.random() < 0.6:
            with use_case():
                release_leases(holder=held.pop(chance.randrange(len(held))), reason="released")
    return made


def change_prices(chance: random.Random, offers: list[UUID], owner: UUID) -> int:
    for _ in range(TURNS):
        with suppress(DomainError):
            set_price(actor_id=owner, offer_id=chance.choice(offers), price_micros=chance.randint(1, 5) * 500_000)
    return 0


def look(chance: random.Random) -> int:
    """Answers must agree with themselves while the market moves."""
    for _ in range(TURNS):
        page = search_offers(OfferQuery(limit=200, sort=chance.choice(["price", "-value", "gpu_free", "-newest"])))
        assert len({row["id"] for row in page.offers}) == len(page.offers) == page.total
        found = search_facets(OfferQuery())
        assert sum(choice.count for choice in found.choices["region"]) == found.total
    return 0


def closing(work: Callable[[], int]) -> int:
    try:
        return work()
    finally:
        connection.close()


def test_two_hundred_rents_and_releases_beside_readers(hana: User, offers: list[UUID]) -> None:
    works: list[Callable[[], int]] = [lambda n=n: rent_and_release(random.Random(n), offers) for n in range(6)]  # type: ignore[misc]
    works += [lambda: change_prices(random.Random(7), offers, hana.pk)]
    works += [lambda n=n: look(random.Random(n)) for n in range(2)]  # type: ignore[misc]
    with ThreadPoolExecutor(len(works)) as pool:
        running = [pool.submit(closing, work) for work in works]
        made = sum(each.result(timeout=PATIENCE_S) for each in running)
    assert made > 100
    assert compare_offers() == []
    kept = [offer_page_json(OfferQuery(sort=sort, limit=200)) for sort in ("price", "-value", "gpu_free")]
    assert kept[0][3] == Offer.objects.filter(gpu_free__gt=0).count()
    snapshot.reset_snapshot()
    assert kept == [offer_page_json(OfferQuery(sort=sort, limit=200)) for sort in ("price", "-value", "gpu_free")]


def test_a_transaction_that_was_open_at_the_last_look_is_not_missed(offers: list[UUID]) -> None:
    """Its number lies below those that were seen: a mere high-water mark would pass it over."""
    first, second, third = offers[:3]

    def price_of(key: UUID) -> int:
        [row] = [row for row in search_offers(OfferQuery(limit=200)).offers if row["id"] == key]
        return int(row["price_all_in_micros"])

    def elsewhere(work: Callable[[], object]) -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(closing, lambda: (work() and 0) or 0).result(timeout=PATIENCE_S)

    def prices_in_another_transaction(key: UUID, micros: int) -> None:
        elsewhere(lambda: Offer.objects.filter(pk=key).update(price_micros=micros))

    assert price_of(first) != 7
    with transaction.atomic():
        Offer.objects.filter(pk=first).update(price_micros=7)  # takes the lower number
        prices_in_another_transaction(second, 8)
        elsewhere(lambda: price_of(second) == 8 or pytest.fail("the committed change is not seen"))
        elsewhere(lambda: price_of(first) != 7 or pytest.fail("an open transaction is seen"))
    prices_in_another_transaction(third, 9)
    assert (price_of(first), price_of(second), price_of(third)) == (7, 8, 9)
