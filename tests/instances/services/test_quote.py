"""Quotes: what they add up to, how long they hold, what they refuse."""

from datetime import timedelta
from uuid import uuid4

import pytest

from accounts.models import User
from common import clock
from common.errors import InvalidInput, NotFound
from common.ids import public_id
from common.money import parse_money
from instances.errors import DiskTooLarge
from instances.models import Quote
from instances.services.quote import create_quote, quote_again
from marketplace.errors import GpuTaken, OfferClosed
from marketplace.models import Host, Offer
from marketplace.services.availability import refresh_offers_of_host
from marketplace.services.offers import set_draining, set_listed, set_price
from storage.models import Image
from storage.services.images import register_image
from tests.instances.fake_host import FakeHost, order, refused


def quote_for(renter: User, host: FakeHost, **wishes: object) -> Quote:
    return create_quote(renter=renter, offer_id=host.offer.pk, **{"image": "berth-base", **wishes})  # type: ignore[arg-type]


def test_it_adds_up(rin: User, host: FakeHost) -> None:
    quote = quote_for(rin, host, gpu_count=2, hours=24, data_disk_gb=50)
    assert quote.rate_micros_per_hour == quote.due_now_micros == parse_money("7.20")
    assert quote.projected_micros == parse_money("172.80")
    assert quote.expires_at == clock.now() + timedelta(minutes=10)
    assert quote.offer_version == host.offer.version
    assert quote.lines == [
        {"item": "RTX 4090", "quantity": "48", "unit": "GPU-hour", "unit_price": "3.60", "amount": "172.80"},
        {"item": "Data disk", "quantity": "50", "unit": "GB", "unit_price": "0.00", "amount": "0.00"},
    ]


def test_the_worked_example_of_a_year(rin: User, hana: User, image: Image, hours: object) -> None:
    quote = quote_for(rin, FakeHost(hana, price="3.06"), hours=8760)
    assert quote.projected_micros == parse_money("26805.60")


def test_an_image_is_named_by_slug_or_id(rin: User, host: FakeHost, image: Image) -> None:
    assert quote_for(rin, host, image=public_id("img", image.pk)).image == image
    for unknown in ("no-such-image", public_id("img", uuid4()), "img_x"):
        with pytest.raises(NotFound):
            quote_for(rin, host, image=unknown)


@pytest.mark.parametrize(
    ("field", "value"), [("gpu_count", 0), ("gpu_count", 5), ("hours", 0), ("hours", 100_000), ("billing_mode", "spot")]
)
def test_impossible_wishes(rin: User, host: FakeHost, field: str, value: object) -> None:
    with pytest.raises(InvalidInput) as refusal:
        quote_for(rin, host, **{field: value})
    assert [error.field for error in refusal.value.errors] == [field]


def test_disks_above_the_free_quota_are_refused(rin: User, host: FakeHost) -> None:
    with pytest.raises(DiskTooLarge):
        quote_for(rin, host, data_disk_gb=51)
    with pytest.raises(InvalidInput):
        quote_for(rin, host, data_disk_gb=-1)


def test_fault_044_a_disk_must_fit_on_the_host(rin: User, host: FakeHost) -> None:
    Host.objects.filter(pk=host.host.pk).update(disk_free_gb=20)
    refresh_offers_of_host(host_id=host.host.pk)
    with pytest.raises(DiskTooLarge, match="20 GB"):
        quote_for(rin, host, data_disk_gb=21)


@pytest.mark.parametrize(
    ("needs", "has", "fits"), [("12.4", "12.4", True), ("12.4", "12.10", True), ("12.4", "11.8", False)]
)
def test_fault_037_an_image_needs_a_driver_that_knows_its_cuda(
    rin: User, host: FakeHost, needs: str, has: str, fits: bool
) -> None:
    register_image(slug="cuda", reference="berth/cuda:1", title="CUDA", cuda=needs)
    Host.objects.filter(pk=host.host.pk).update(cuda=has)
    refresh_offers_of_host(host_id=host.host.pk)
    if fits:
        assert quote_for(rin, host, image="cuda").image.slug == "cuda"
    else:
        with pytest.raises(InvalidInput, match=r"CUDA 12\.4"):
            quote_for(rin, host, image="cuda")


def test_closed_offers(rin: User, host: FakeHost) -> None:
    set_draining(actor_id=host.owner.pk, host_id=host.host.pk, draining=True)
    with pytest.raises(OfferClosed):
        quote_for(rin, host)
    set_draining(actor_id=host.owner.pk, host_id=host.host.pk, draining=False)
    set_listed(actor_id=host.owner.pk, offer_id=host.offer.pk, listed=False)
    with pytest.raises(OfferClosed):
        quote_for(rin, host)


def test_taken_gpus(rin: User, host: FakeHost) -> None:
    order(rin, host, gpu_count=3)
    assert quote_for(rin, host, gpu_count=1)
    with pytest.raises(GpuTaken, match="1 are free"):
        quote_for(rin, host, gpu_count=2)


def test_again_takes_the_same_wishes_at_the_present_price(rin: User, bob: User, host: FakeHost) -> None:
    old = quote_for(rin, host, gpu_count=2, hours=5, data_disk_gb=7)
    set_price(actor_id=host.owner.pk, offer_id=host.offer.pk, price_micros=4_000_000)
    new = quote_again(renter=rin, quote_id=old.pk)
    assert (new.gpu_count, new.hours, new.data_disk_gb, new.image_id) == (2, 5, 7, old.image_id)
    assert (new.rate_micros_per_hour, new.offer_version) == (8_000_000, Offer.objects.get(pk=old.offer_id).version)
    with refused(), pytest.raises(NotFound):
        quote_again(renter=bob, quote_id=old.pk)
