"""The order is what was quoted, or refused with each difference."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from billing.ledger.selectors import wallet_of
from common import clock
from common.ids import public_id
from instances.errors import QuoteMismatch
from instances.models import Instance, Quote
from instances.orders.quote_claims import Expected, quote_for_order
from instances.orders.quotes import create_quote, quote_signature
from instances.orders.rent import rent_instance
from marketplace.hosts.offers import ListingChange, set_prices
from marketplace.models import Lease
from storage.models import Image
from tests.billing.money import UNIT, grant
from tests.instances.fake_host import FakeHost, order_running, refused


@pytest.fixture
def quote(rin: User, host: FakeHost) -> Quote:
    set_prices(
        actor_id=host.owner.pk,
        change=ListingChange(
            host.offer.pk, reserved_discounts={"month": 2_000}, spot_floor_micros=1_000_000, disk_micros_gb_day=3_000
        ),
    )
    return create_quote(renter=rin, offer_id=host.offer.pk, image="berth-base", gpu_count=2, data_disk_gb=10, hours=10)


def untouched(renter: User, quote: Quote) -> None:
    quote.refresh_from_db()
    assert quote.used_at is None
    assert not Instance.objects.exists()
    assert not Lease.objects.exists()
    assert wallet_of(owner_id=renter.pk, now=clock.now()).held_micros == 0


def test_an_order_that_says_what_was_quoted(rin: User, quote: Quote, image: Image) -> None:
    expected = Expected(
        offer_id=quote.offer_id,
        image=public_id("img", image.pk),
        gpu_count=2,
        billing_mode="hourly",
        data_disk_gb=10,
        term="",
        payment="",
        max_total_micros=72_000_000,
        signature=quote_signature(quote),
    )
    assert rent_instance(renter=rin, quote_id=quote.pk, expected=expected).gpu_count == 2


@pytest.mark.parametrize(
    ("wrong", "field", "words"),
    [
        ({"gpu_count": 1}, "gpu_count", "the quote says 2, the order 1"),
        ({"billing_mode": "spot"}, "billing_mode", "the quote says hourly, the order spot"),
        ({"data_disk_gb": 20}, "data_disk_gb", "the quote says 10, the order 20"),
        ({"image": "another"}, "image", "the order another"),
        ({"offer_id": uuid4()}, "offer", "offr_"),
        ({"term": "month"}, "term", "the order month"),
        ({"max_total_micros": 71_999_999}, "max_total", "projected 72.00; the order allows 71.999999"),
        ({"signature": "0" * 64}, "signature", "not the signature"),
        ({"signature": "é"}, "signature", "not the signature"),
    ],
)
def test_each_difference_is_refused_and_named(
    rin: User, quote: Quote, wrong: dict[str, Any], field: str, words: str
) -> None:
    with refused(), pytest.raises(QuoteMismatch, match=words) as refusal:
        rent_instance(renter=rin, quote_id=quote.pk, expected=Expected(**wrong))
    assert [error.field for error in refusal.value.errors] == [field]
    untouched(rin, quote)


def test_all_differences_at_once(rin: User, quote: Quote) -> None:
    with refused(), pytest.raises(QuoteMismatch) as refusal:
        rent_instance(renter=rin, quote_id=quote.pk, expected=Expected(gpu_count=1, data_disk_gb=0, max_total_micros=0))
    assert [error.field for error in refusal.value.errors] == ["gpu_count", "data_disk_gb", "max_total"]


def test_a_new_quote_for_what_was_ordered(rin: User, quote: Quote) -> None:
    found = quote_for_order(renter=rin, quote_id=quote.pk, expected=Expected(gpu_count=1, data_disk_gb=20))
    assert found is not None
    assert (found.gpu_count, found.data_disk_gb, found.hours) == (1, 20, 10)
    reserved = quote_for_order(renter=rin, quote_id=quote.pk, expected=Expected(billing_mode="reserved", term="month"))
    assert reserved is not None
    assert (reserved.billing_mode, reserved.term) == ("reserved", "month")
    assert quote_for_order(renter=rin, quote_id=quote.pk, expected=Expected(gpu_count=9)) is None


@pytest.mark.parametrize(
    "wishes",
    [
        {"billing_mode": "tiered"},
        {"billing_mode": "reserved", "term": "month"},
        {"billing_mode": "spot", "max_price_micros": 2_000_000},
        {"data_disk_gb": 51},
    ],
)
def test_every_mode_can_be_ordered(rin: User, host: FakeHost, quote: Quote, wishes: dict[str, Any]) -> None:
    grant(rin, 10_000 * UNIT)
    other = create_quote(renter=rin, offer_id=host.offer.pk, image="berth-base", **wishes)
    rented = rent_instance(renter=rin, quote_id=other.pk)
    assert rented.billing_mode == wishes.get("billing_mode", "hourly")


def test_the_signature_covers_every_term(quote: Quote) -> None:
    before = quote_signature(Quote.objects.get(pk=quote.pk))
    assert before == quote_signature(quote)
    for name, value in {
        "gpu_count": 1,
        "billing_mode": "spot",
        "data_disk_gb": 11,
        "hours": 11,
        "rate_micros_per_hour": 1,
        "due_now_micros": 1,
        "projected_micros": 1,
        "lines": [],
        "term": "month",
        "payment": "none",
        "max_price_micros": 1,
        "committed_micros": 1,
        "offer_version": 99,
        "expires_at": quote.expires_at + timedelta(seconds=1),
        "renter_id": uuid4(),
        "offer_id": uuid4(),
        "image_id": uuid4(),
        "for_instance_id": uuid4(),
    }.items():
        changed = Quote.objects.get(pk=quote.pk)
        setattr(changed, name, value)
        assert quote_signature(changed) != before, name


def test_a_running_lease_never_changes_its_price(rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host, gpu_count=2)
    paid = Lease.objects.filter(holder=instance.pk).values_list("price_micros", flat=True)
    before = (
        list(paid.all()),
        instance.rate_micros_per_hour,
        wallet_of(owner_id=rin.pk, now=clock.now()).burn_micros_per_hour,
    )
    change = ListingChange(
        host.offer.pk, price_micros=9_000_000, tiers=[(1, 9_000)], spot_floor_micros=1, disk_micros_gb_day=10**9
    )
    set_prices(actor_id=host.owner.pk, change=replace(change, reserved_discounts={"day": 9_000}))
    host.sync()
    instance.refresh_from_db()
    after = (
        list(paid.all()),
        instance.rate_micros_per_hour,
        wallet_of(owner_id=rin.pk, now=clock.now()).burn_micros_per_hour,
    )
    assert after == before == ([3_600_000, 3_600_000], 7_200_000, 7_200_000)
