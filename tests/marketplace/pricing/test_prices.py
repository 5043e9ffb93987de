"""Prices in every mode: limits, versions, history, and how long a host stays."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine

from accounts.models import User
from common import clock
from common.errors import InvalidInput, NotFound
from marketplace.constants import DEFAULT_TIERS, FIRST_DISK_MICROS_GB_DAY
from marketplace.hosts.offers import ListingChange, set_listed_until, set_price, set_prices
from marketplace.leasing.lease import release_leases
from marketplace.models import Host, HostEvent, Lease, Offer, OfferPrice
from tests.marketplace.shapes import PRICE, enrolled, leased, offer_of


def change(owner: User, offer: Offer, **prices: Any) -> Offer:
    set_prices(actor_id=owner.pk, change=ListingChange(offer.pk, **prices))
    return Offer.objects.get(pk=offer.pk)


def history(offer: Offer) -> list[tuple[int, int | None]]:
    return list(OfferPrice.objects.filter(offer=offer).values_list("price_micros", "spot_floor_micros"))


def test_a_new_offer_has_first_prices_and_a_history(hana: User, offer: Offer) -> None:
    assert (offer.reserved_discounts, offer.spot_floor_micros) == ({}, None)
    assert offer.tiers == [list(step) for step in DEFAULT_TIERS]
    assert offer.disk_micros_gb_day == FIRST_DISK_MICROS_GB_DAY
    assert history(offer) == [(PRICE, None)]
    unpriced = offer_of(enrolled(hana, 1, name="other", price=0))
    assert history(unpriced) == []


def test_every_mode_in_one_change(hana: User, host: Host, offer: Offer) -> None:
    prices: dict[str, Any] = {
        "price_micros": 3_000_000,
        "reserved_discounts": {"month": 2_000, "year3": 5_800},
        "tiers": [(100, 500), (720, 1_500)],
        "spot_floor_micros": 1_000_000,
        "disk_micros_gb_day": 2_500,
    }
    changed = change(hana, offer, **prices)
    assert {name: getattr(changed, name) for name in prices} == {**prices, "tiers": [[100, 500], [720, 1_500]]}
    assert changed.version == offer.version + 1
    assert history(offer) == [(PRICE, None), (3_000_000, 1_000_000)]
    event = HostEvent.objects.filter(host=host, kind="price_changed").get()
    assert "price per GPU-hour $2.00 → $3.00" in event.detail


def test_the_same_again_changes_nothing(hana: User, offer: Offer) -> None:
    prices: dict[str, Any] = {"reserved_discounts": {"month": 2_000}, "tiers": [(9, 1)], "spot_floor_micros": 5}
    before = change(hana, offer, **prices)
    assert change(hana, offer, **prices).version == before.version
    assert len(history(offer)) == 2


@pytest.mark.parametrize(
    "prices",
    [
        {"reserved_discounts": {"week": 1}},
        {"tiers": []},
        {"spot_floor_micros": 1},
        {"disk_micros_gb_day": 0},
        {"price_micros": PRICE + 1},
    ],
)
def test_whatever_a_quote_depends_on_is_a_new_version(hana: User, offer: Offer, prices: dict[str, Any]) -> None:
    assert change(hana, offer, **prices).version == offer.version + 1


def test_what_no_quote_depends_on_is_not(hana: User, host: Host, offer: Offer) -> None:
    change(hana, offer, listed=False)
    change(hana, offer, listed=True)
    set_listed_until(actor_id=hana.pk, host_id=host.pk, until=clock.now() + timedelta(days=9))
    assert offer_of(host).version == offer.version
    assert len(history(offer)) == 1


def test_terms_merge_and_end_one_by_one(hana: User, offer: Offer) -> None:
    change(hana, offer, reserved_discounts={"day": 0, "month": 2_000})
    assert change(hana, offer, reserved_discounts={"year": 4_000}).reserved_discounts == {
        "day": 0,
        "month": 2_000,
        "year": 4_000,
    }
    assert change(hana, offer, reserved_discounts={"day": None, "week": None}).reserved_discounts == {
        "month": 2_000,
        "year": 4_000,
    }


def test_spot_ends_with_zero_and_its_history_says_so(hana: User, offer: Offer) -> None:
    change(hana, offer, spot_floor_micros=9)
    assert change(hana, offer, spot_floor_micros=0).spot_floor_micros is None
    assert history(offer) == [(PRICE, None), (PRICE, 9), (PRICE, None)]


@pytest.mark.parametrize(
    ("prices", "field"),
    [
        ({"spot_floor_micros": PRICE + 1}, "spot_floor"),
        ({"spot_floor_micros": -1}, "spot_floor"),
        ({"reserved_discounts": {"month": 9_001}}, "reserved_discounts"),
        ({"reserved_discounts": {"month": -1}}, "reserved_discounts"),
        ({"reserved_discounts": {"decade": 100}}, "reserved_discounts"),
        ({"tiers": [(720, 1_500), (720, 1_600)]}, "tiers"),
        ({"tiers": [(720, 1_500), (800, 1_500)]}, "tiers"),
        ({"tiers": [(0, 1_500)]}, "tiers"),
        ({"tiers": [(1, 0)]}, "tiers"),
        ({"tiers": [(26_281, 100)]}, "tiers"),
        ({"tiers": [(n, n) for n in range(1, 12)]}, "tiers"),
        ({"disk_micros_gb_day": -1}, "disk_gb_day"),
        ({"price_micros": 0}, "price_hourly"),
    ],
)
def test_limits(hana: User, offer: Offer, prices: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        change(hana, offer, **prices)
    assert [error.field for error in refusal.value.errors] == [field]
    assert Offer.objects.get(pk=offer.pk).version == offer.version
    assert history(offer) == [(PRICE, None)]


def test_the_hourly_price_cannot_fall_below_the_floor_alone(hana: User, offer: Offer) -> None:
    change(hana, offer, spot_floor_micros=PRICE)
    with pytest.raises(InvalidInput, match="spot floor"):
        set_price(actor_id=hana.pk, offer_id=offer.pk, price_micros=PRICE - 1)
    assert change(hana, offer, price_micros=PRICE - 1, spot_floor_micros=PRICE - 1).price_micros == PRICE - 1


def test_others_cannot(mallory: User, host: Host, offer: Offer) -> None:
    with pytest.raises(NotFound):
        change(mallory, offer, disk_micros_gb_day=1)
    with pytest.raises(NotFound):
        set_listed_until(actor_id=mallory.pk, host_id=host.pk, until=None)


def test_history_has_the_moment(hana: User, offer: Offer) -> None:
    later = clock.now() + timedelta(days=1)
    with time_machine.travel(later, tick=False):
        set_price(actor_id=hana.pk, offer_id=offer.pk, price_micros=1)
    assert OfferPrice.objects.filter(offer=offer).latest("id").at == later


# -- how long the host stays


def test_an_end_lies_in_the_future_and_reaches_the_offers(hana: User, host: Host, offer: Offer) -> None:
    end = clock.now() + timedelta(days=30)
    set_listed_until(actor_id=hana.pk, host_id=host.pk, until=end)
    assert offer_of(host).listed_until == end
    with pytest.raises(InvalidInput, match="future"):
        set_listed_until(actor_id=hana.pk, host_id=host.pk, until=clock.now() - timedelta(seconds=1))
    set_listed_until(actor_id=hana.pk, host_id=host.pk, until=None)
    assert offer_of(host).listed_until is None
    kinds = HostEvent.objects.filter(host=host, kind="listed_until_changed").count()
    assert kinds == 2


def test_never_before_the_end_that_a_running_lease_was_promised(hana: User, host: Host, offer: Offer) -> None:
    promised = clock.now() + timedelta(days=30)
    set_listed_until(actor_id=hana.pk, host_id=host.pk, until=promised)
    leased(offer)
    lease = Lease.objects.get(offer=offer)
    assert lease.promised_until == promised
    with pytest.raises(InvalidInput, match="promised"):
        set_listed_until(actor_id=hana.pk, host_id=host.pk, until=promised - timedelta(seconds=1))
    set_listed_until(actor_id=hana.pk, host_id=host.pk, until=promised + timedelta(days=1))
    set_listed_until(actor_id=hana.pk, host_id=host.pk, until=promised)  # back to what was promised
    release_leases(holder=lease.holder, reason="test")
    set_listed_until(actor_id=hana.pk, host_id=host.pk, until=clock.now() + timedelta(days=1))


def test_a_lease_without_a_named_end_promises_none(hana: User, host: Host, offer: Offer) -> None:
    leased(offer)
    set_listed_until(actor_id=hana.pk, host_id=host.pk, until=clock.now() + timedelta(hours=1))
    assert offer_of(host).listed_until is not None
