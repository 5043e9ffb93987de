"""Offers by their ids, hosts as their owners and as everyone sees them."""

from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from common.clock import now
from common.errors import NotFound
from marketplace.hosts.offers import set_listed
from marketplace.hosts.selectors import host_address, host_of, host_record, hosts_of, payee_of
from marketplace.leasing.offer_selectors import offer_view
from marketplace.models import Host, Offer
from marketplace.search.language.fields import OfferQuery
from marketplace.search.selectors import offers_like, search_offers
from tests.marketplace.shapes import PRICE, enrolled, leased, offer_of


def test_a_row_says_what_a_renter_needs(host: Host, offer: Offer) -> None:
    [row] = offers_like([offer.pk])
    assert row["id"] == offer.pk
    assert (row["host_name"], row["region"], row["runtime"], row["simulated"]) == ("rig", "eu", "docker", False)
    assert (row["gpu_name"], row["gpu_series"], row["gpu_architecture"]) == ("RTX 4090", "GeForce", "Ada")
    view = offer_view(offer.pk)
    assert vars(view) == row
    assert (view.vram_gb, view.price_micros, view.owner_id) == (24, PRICE, host.owner_id)


def test_closed_and_sold_out_offers_are_not_listed_but_can_be_seen(hana: User, offer: Offer) -> None:
    leased(offer, 2)
    assert search_offers(OfferQuery()).offers == []
    assert offer_view(offer.pk).gpu_free == 0
    unlisted = offer_of(enrolled(hana, 1, name="other"))
    set_listed(actor_id=hana.pk, offer_id=unlisted.pk, listed=False)
    assert search_offers(OfferQuery()).offers == []
    assert offer_view(unlisted.pk).listed is False
    with pytest.raises(NotFound):
        offer_view(uuid4())


def test_hosts_of_an_owner(hana: User, alice: User, host: Host, offer: Offer) -> None:
    got = leased(offer).gpu_uuids[0]
    with CaptureQueriesContext(connection) as queries:
        [own] = hosts_of(hana.pk)
        assert {card.uuid: card.leased for card in own.gpus.all()}[got] is True  # type: ignore[attr-defined]  # annotated
        assert [each.pk for each in own.offers.all()] == [offer.pk]
    assert len(queries) == 5
    assert list(hosts_of(alice.pk)) == []
    with pytest.raises(NotFound):
        host_of(alice.pk, host.pk)
    assert host_address(host.pk) == "198.51.100.7"
    assert payee_of(host.pk) == hana.pk
    for selector in (host_address, payee_of):
        with pytest.raises(NotFound):
            selector(uuid4())
    assert own.last_seen_at <= now()


def test_record_of_a_host_counts_its_renters_once(host: Host, offer: Offer) -> None:
    leased(offer, 2)
    record = host_record(host.pk)
    assert (record.rents, record.enrolled_at) == (1, host.enrolled_at)
    with pytest.raises(NotFound):
        host_record(uuid4())
