"""The market: every filter, every sort, pages that neither lose nor repeat an offer, counts per choice."""

import random
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from common.clock import now
from common.errors import InvalidInput, NotFound
from marketplace.models import Gpu, Host, Offer
from marketplace.selectors import (
    OfferFilter,
    facets,
    host_address,
    host_of,
    hosts_of,
    offer_page,
    offer_view,
    open_offers,
    payee_of,
)
from marketplace.services.offers import set_listed
from tests.marketplace.shapes import PRICE, enrolled, gpu, leased, offer_of

MODELS = [("NVIDIA GeForce RTX 4090", 24_564), ("NVIDIA A100-SXM4-80GB", 81_920), ("Tesla T4", 15_360)]


@pytest.fixture
def market(hana: User) -> list[Offer]:
    """24 hosts of three models in three regions, with equal prices among them."""
    chance = random.Random(7)
    for n in range(24):
        name, vram = MODELS[n % 3]
        cards = [gpu(name, vram, simulated=n % 4 == 0) for _ in range(chance.choice([1, 2, 4, 8]))]
        enrolled(hana, cards, name=f"rig-{n}", region=f"r{n % 3}", price=1_000_000 * chance.randint(1, 4))
    return list(Offer.objects.all())


def _ids(wanted: OfferFilter) -> list[Any]:
    return [row["id"] for row in open_offers(wanted)]


def test_a_row_says_what_a_renter_needs(host: Host, offer: Offer) -> None:
    [row] = open_offers(OfferFilter())
    assert row["id"] == offer.pk
    assert (row["host_name"], row["region"], row["runtime"], row["simulated"]) == ("rig", "eu", "docker", False)
    assert (row["gpu_name"], row["gpu_series"], row["gpu_architecture"]) == ("RTX 4090", "GeForce", "Ada")
    view = offer_view(offer.pk)
    assert vars(view) == row
    assert (view.vram_gb, view.price_micros, view.owner_id) == (24, PRICE, host.owner_id)


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        (OfferFilter(), lambda offer: True),
        (OfferFilter(gpu_model=["a100"]), lambda offer: offer.gpu_model == "a100"),
        (OfferFilter(gpu_model=["a100", "t4"]), lambda offer: offer.gpu_model in ("a100", "t4")),
        (OfferFilter(gpu_model=["unknown"]), lambda offer: False),
        (OfferFilter(gpu_count=4), lambda offer: offer.gpu_free >= 4),
        (OfferFilter(region=["r1", "r2"]), lambda offer: offer.region in ("r1", "r2")),
        (OfferFilter(price_max=2_000_000), lambda offer: offer.price_micros <= 2_000_000),
        (OfferFilter(vram_gb_min=24), lambda offer: offer.gpu_model != "t4"),
        (OfferFilter(vram_gb_min=16), lambda offer: True),
        (OfferFilter(runtime="simulated"), lambda offer: False),
        (OfferFilter(simulated=True), lambda offer: offer.simulated),
        (OfferFilter(simulated=False), lambda offer: not offer.simulated),
        (
            OfferFilter(gpu_model=["rtx-4090"], region=["r0"], simulated=False, price_max=3_000_000, gpu_count=2),
            lambda offer: (
                offer.region == "r0" and not offer.simulated and offer.price_micros <= 3_000_000 and offer.gpu_free > 1
            ),
        ),
    ],
)
def test_filters(market: list[Offer], wanted: OfferFilter, fits: Any) -> None:
    assert set(_ids(replace(wanted, limit=100))) == {offer.pk for offer in market if fits(offer)}
    assert facets(wanted).total == sum(map(fits, market))


@pytest.mark.parametrize("sort", ["price", "-price", "vram", "-vram", "gpu_free", "-gpu_free"])
@pytest.mark.parametrize("limit", [1, 5, 23, 24, 25])
def test_pages_hold_every_offer_once_and_lead_back(market: list[Offer], sort: str, limit: int) -> None:
    whole = _ids(OfferFilter(sort=sort, limit=100))
    column = {"price": "price_micros", "vram": "vram_mb", "gpu_free": "gpu_free"}[sort.lstrip("-")]
    down = sort.startswith("-")
    assert whole == [o.pk for o in sorted(market, key=lambda o: (getattr(o, column), o.pk), reverse=down)]
    pages, cursor = [], None
    while True:
        page = offer_page(OfferFilter(sort=sort, limit=limit, cursor=cursor))
        pages.append(page)
        assert (page.previous is None) is (len(pages) == 1)
        if page.next is None:
            break
        cursor = page.next
    assert [row["id"] for page in pages for row in page.offers] == whole
    for earlier, later in zip(pages[-2::-1], pages[:0:-1], strict=True):
        back = offer_page(OfferFilter(sort=sort, limit=limit, cursor=later.previous))
        assert back.offers == earlier.offers
        assert (back.previous is None) is (earlier is pages[0])
        assert back.next is not None


def test_paging_survives_a_market_that_moves(market: list[Offer]) -> None:
    """What is leased between two pages is not shown; nothing else is lost or shown twice."""
    first = offer_page(OfferFilter(limit=10))
    for row in [first.offers[-1], open_offers(OfferFilter(limit=100))[12]]:
        Gpu.objects.filter(offer_id=row["id"]).update(healthy=False)
        Offer.objects.filter(pk=row["id"]).update(gpu_free=0)
    second = offer_page(OfferFilter(limit=100, cursor=first.next))
    assert len(second.offers) == 13
    assert not {row["id"] for row in first.offers} & {row["id"] for row in second.offers}


def test_closed_and_sold_out_offers_are_not_listed_but_can_be_seen(hana: User, offer: Offer) -> None:
    leased(offer, 2)
    assert open_offers(OfferFilter()) == []
    assert offer_view(offer.pk).gpu_free == 0
    unlisted = offer_of(enrolled(hana, 1, name="other"))
    set_listed(actor_id=hana.pk, offer_id=unlisted.pk, listed=False)
    assert open_offers(OfferFilter()) == []
    assert offer_view(unlisted.pk).listed is False
    with pytest.raises(NotFound):
        offer_view(uuid4())


def test_a_malformed_cursor_is_refused(offer: Offer) -> None:
    with pytest.raises(InvalidInput):
        offer_page(OfferFilter(cursor="x"))


def test_facets_ignore_their_own_filter(market: list[Offer]) -> None:
    found = facets(OfferFilter(gpu_model=["a100"], region=["r1"]))
    assert found.total == 8
    assert {choice.value: choice.count for choice in found.choices["gpu_model"]} == {"a100": 8}
    assert {choice.value: choice.count for choice in found.choices["region"]} == {"r1": 8}
    free = facets(OfferFilter(price_max=2_000_000))
    cheap = [offer for offer in market if offer.price_micros <= 2_000_000]
    for choice in free.choices["gpu_model"]:
        assert choice.count == sum(offer.gpu_model == choice.value for offer in cheap)
        assert choice.price_min_micros == min(o.price_micros for o in cheap if o.gpu_model == choice.value)
    labels = {choice.value: choice.label for choice in facets(OfferFilter()).choices["gpu_model"]}
    assert labels == {"rtx-4090": "RTX 4090", "a100": "A100", "t4": "T4"}
    counts = {choice.value: choice.count for choice in facets(OfferFilter(gpu_count=8)).choices["gpu_count"]}
    assert counts == {number: sum(offer.gpu_free >= number for offer in market) for number in (1, 2, 4, 8)}


def test_hosts_of_an_owner(hana: User, alice: User, host: Host, offer: Offer) -> None:
    got = leased(offer).gpu_uuids[0]
    with CaptureQueriesContext(connection) as queries:
        [own] = hosts_of(hana.pk)
        assert {card.uuid: card.leased for card in own.gpus.all()}[got] is True  # type: ignore[attr-defined]  # annotated
        assert [each.pk for each in own.offers.all()] == [offer.pk]
    assert len(queries) == 3
    assert list(hosts_of(alice.pk)) == []
    with pytest.raises(NotFound):
        host_of(alice.pk, host.pk)
    assert host_address(host.pk) == "198.51.100.7"
    assert payee_of(host.pk) == hana.pk
    for selector in (host_address, payee_of):
        with pytest.raises(NotFound):
            selector(uuid4())
    assert own.last_seen_at <= now()
