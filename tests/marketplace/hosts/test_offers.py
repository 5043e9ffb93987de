"""Prices, listing, maintenance; own offers only; and the sweep that finds what is not true."""

from uuid import uuid4

import pytest

from accounts.models import User
from common.errors import InvalidInput, NotFound
from common.messages.message import Name
from marketplace.hosts.incidents import close_incident, open_incident
from marketplace.hosts.offers import ListingChange, change_listing, check_offers, set_draining, set_listed, set_price
from marketplace.models import Host, HostEvent, Incident, Offer
from tests.marketplace.shapes import PRICE, enrolled, gpu, leased, offer_of


def test_a_new_price_is_a_new_version(hana: User, host: Host, offer: Offer) -> None:
    set_price(actor_id=hana.pk, offer_id=offer.pk, price_micros=PRICE * 2)
    changed = offer_of(host)
    assert (changed.price_micros, changed.version) == (PRICE * 2, offer.version + 1)
    set_price(actor_id=hana.pk, offer_id=offer.pk, price_micros=PRICE * 2)
    assert offer_of(host).version == changed.version
    assert HostEvent.objects.filter(kind="price_changed", actor=f"user:{hana.pk.hex}").count() == 1


@pytest.mark.parametrize("price", [-1, 0, 10**12 + 1])
def test_a_listed_offer_has_a_price(hana: User, offer: Offer, price: int) -> None:
    with pytest.raises(InvalidInput):
        set_price(actor_id=hana.pk, offer_id=offer.pk, price_micros=price)


def test_an_offer_without_a_price_stays_off_the_market(hana: User) -> None:
    offer = offer_of(enrolled(hana, 1, price=0))
    with pytest.raises(InvalidInput):
        set_listed(actor_id=hana.pk, offer_id=offer.pk, listed=True)
    set_price(actor_id=hana.pk, offer_id=offer.pk, price_micros=PRICE)
    set_listed(actor_id=hana.pk, offer_id=offer.pk, listed=True)
    offer.refresh_from_db()
    assert (offer.listed, offer.gpu_free) == (True, 1)


def test_listing_and_draining_close_and_open(hana: User, host: Host, offer: Offer) -> None:
    set_listed(actor_id=hana.pk, offer_id=offer.pk, listed=False)
    assert offer_of(host).gpu_free == 0
    set_listed(actor_id=hana.pk, offer_id=offer.pk, listed=True)
    assert offer_of(host).gpu_free == 2
    set_draining(actor_id=hana.pk, host_id=host.pk, draining=True)
    set_draining(actor_id=hana.pk, host_id=host.pk, draining=True)
    assert offer_of(host).gpu_free == 0
    set_draining(actor_id=hana.pk, host_id=host.pk, draining=False)
    assert offer_of(host).gpu_free == 2
    kinds = HostEvent.objects.order_by("id").values_list("kind", flat=True)
    assert list(kinds) == ["enrolled", "offer_unlisted", "offer_listed", "draining", "draining_ended"]


def test_others_offers_do_not_exist(mallory: User, host: Host, offer: Offer) -> None:
    before = offer_of(host).price_micros
    with pytest.raises(NotFound):
        set_price(actor_id=mallory.pk, offer_id=offer.pk, price_micros=1)
    with pytest.raises(NotFound):
        set_listed(actor_id=mallory.pk, offer_id=offer.pk, listed=False)
    with pytest.raises(NotFound):
        set_draining(actor_id=mallory.pk, host_id=host.pk, draining=True)
    with pytest.raises(NotFound):
        change_listing(actor_id=mallory.pk, host_id=host.pk, changes=[ListingChange(offer.pk, listed=False)])
    now = offer_of(host)
    assert (now.price_micros, now.listed, now.gpu_free) == (before, True, 2)


def test_changes_are_all_or_none(hana: User) -> None:
    host = enrolled(hana, [gpu(), gpu("Tesla T4", 15_360)])
    one, other = Offer.objects.filter(host=host).order_by("pk")
    other_offer = offer_of(enrolled(hana, 1, name="other"))
    good = ListingChange(one.pk, price_micros=7)
    for wrong in (
        ListingChange(other_offer.pk, price_micros=7),
        ListingChange(uuid4()),
        ListingChange(other.pk, price_micros=-7),
    ):
        with pytest.raises((NotFound, InvalidInput)):
            change_listing(actor_id=hana.pk, host_id=host.pk, changes=[good, wrong])
    one.refresh_from_db()
    assert one.price_micros == PRICE
    change_listing(actor_id=hana.pk, host_id=host.pk, changes=[good, ListingChange(other.pk, listed=False)])
    one.refresh_from_db()
    other.refresh_from_db()
    assert (one.price_micros, other.listed, other.gpu_free) == (7, False, 0)


def test_the_sweep_finds_and_repairs_every_kind_of_lie(hana: User, host: Host, offer: Offer) -> None:
    leased(offer)
    enrolled(hana, 1, name="honest")
    assert check_offers(repair=False) == []
    Offer.objects.filter(pk=offer.pk).update(gpu_free=2, gpu_total=9, region="moon", runtime="simulated", simulated=True)
    found = {(each.offer_id, each.column): (each.shown, each.truth) for each in check_offers(repair=False)}
    assert found == {
        (offer.pk, "gpu_free"): (2, 1),
        (offer.pk, "gpu_total"): (9, 2),
        (offer.pk, "region"): ("moon", "eu"),
        (offer.pk, "runtime"): ("simulated", "docker"),
        (offer.pk, "simulated"): (True, False),
    }
    assert len(check_offers(repair=True)) == 5
    assert check_offers(repair=False) == []
    assert Incident.objects.filter(kind="offer_drift", subject=str(offer.pk)).count() == 1


def test_incidents_are_open_once(db: None) -> None:
    open_incident(kind="odd", subject="x", detail=Name(name="first"))
    open_incident(kind="odd", subject="x", detail=Name(name="second"))
    open_incident(kind="odd", subject="y", detail=Name(name="other"))
    assert list(Incident.objects.order_by("id").values_list("subject", "detail")) == [("x", "first"), ("y", "other")]
    assert close_incident(kind="odd", subject="x") is True
    assert close_incident(kind="odd", subject="x") is False
    open_incident(kind="odd", subject="x", detail=Name(name="third"))
    assert Incident.objects.filter(closed_at=None).count() == 2
