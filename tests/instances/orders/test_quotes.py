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
from instances.orders.quotes import create_quote, renew_quote
from marketplace.errors import GpuTaken, OfferClosed
from marketplace.hosts.offers import ListingChange, set_draining, set_listed, set_listed_until, set_price, set_prices
from marketplace.leasing.availability import refresh_offers_of_host
from marketplace.models import Host, Offer
from storage.images.register import register_image
from storage.models import Image
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


def test_a_disk_has_bounds(rin: User, host: FakeHost) -> None:
    with pytest.raises(DiskTooLarge):
        quote_for(rin, host, data_disk_gb=1501)
    with pytest.raises(InvalidInput):
        quote_for(rin, host, data_disk_gb=-1)


def test_a_disk_above_the_free_quota_is_a_line_of_its_own(rin: User, host: FakeHost) -> None:
    sell(host, disk_micros_gb_day=3_000)
    quote = quote_for(rin, host, hours=48, data_disk_gb=150)
    assert quote.lines[1:] == [
        {"item": "Data disk", "quantity": "50", "unit": "GB", "unit_price": "0.00", "amount": "0.00"},
        {
            "item": "Data disk above the free quota",
            "quantity": "200",
            "unit": "GB-day",
            "unit_price": "0.003",
            "amount": "0.60",
        },
    ]
    assert quote.projected_micros == parse_money("173.40")  # 48 × 3.60 + 100 GB × 2 days × 0.003
    assert quote.rate_micros_per_hour == quote.due_now_micros == parse_money("3.6125")
    assert quote.has_paid_disk
    sell(host, disk_micros_gb_day=0)
    free = quote_for(rin, host, hours=48, data_disk_gb=150)
    assert (free.projected_micros, free.has_paid_disk) == (parse_money("172.80"), False)


# -- every mode


def sell(host: FakeHost, **prices: object) -> None:
    set_prices(actor_id=host.owner.pk, change=ListingChange(host.offer.pk, **prices))  # type: ignore[arg-type]


@pytest.fixture
def seller(rin: User, hana: User, image: Image) -> FakeHost:
    """3.06 an hour; a year at 55 % off, three at 58 %; steps of 15 % from 720 h and 25 % from 2,000 h; spot from 1.00."""
    seller = FakeHost(hana, price="3.06")
    sell(
        seller,
        reserved_discounts={"day": 500, "month": 2_000, "year": 5_500, "year3": 5_800},
        tiers=[(720, 1_500), (2_000, 2_500)],
        spot_floor_micros=1_000_000,
    )
    return seller


@pytest.mark.parametrize(
    ("prices", "wishes", "total"),
    [
        (("3.06", {}), {"hours": 8760}, "26805.60"),
        (("1.38", {"year": 0}), {"billing_mode": "reserved", "term": "year"}, "12088.80"),
        (
            ("3.06", {"year3": 5_800}),
            {"billing_mode": "reserved", "term": "year3", "payment": "none", "hours": 8760},
            "11258.352",
        ),
        (("2.80", {}), {"billing_mode": "tiered", "hours": 720}, "2016.00"),
        (("2.80", {}), {"billing_mode": "tiered", "hours": 1000}, "2682.40"),
        (("0.46", {}), {"gpu_count": 8, "hours": 100}, "368.00"),
    ],
)
@pytest.mark.usefixtures("image")
def test_the_worked_examples(
    rin: User, hana: User, prices: tuple[str, dict[str, int]], wishes: dict[str, object], total: str
) -> None:
    price, terms = prices
    seller = FakeHost(hana, price=price, gpus=8)
    sell(seller, reserved_discounts=terms)
    quote = quote_for(rin, seller, **wishes)
    assert quote.projected_micros == parse_money(total)
    assert sum(parse_money(line["amount"]) for line in quote.lines) == quote.projected_micros


def test_reserved_upfront_is_due_whole(rin: User, seller: FakeHost) -> None:
    quote = quote_for(rin, seller, gpu_count=2, billing_mode="reserved", term="month")
    assert (quote.hours, quote.payment) == (720, "upfront")
    assert quote.rate_micros_per_hour == parse_money("4.896")
    assert quote.due_now_micros == quote.projected_micros == quote.committed_micros == parse_money("3525.12")
    short = quote_for(rin, seller, gpu_count=2, billing_mode="reserved", term="month", hours=1)
    assert (short.projected_micros, short.due_now_micros) == (quote.projected_micros, quote.due_now_micros)
    longer = quote_for(rin, seller, billing_mode="reserved", term="month", hours=721)
    assert longer.projected_micros == parse_money("1762.56") + parse_money("3.06")  # then by the hour


def test_reserved_without_upfront_holds_an_hour_and_a_deposit_and_commits_to_the_term(rin: User, seller: FakeHost) -> None:
    quote = quote_for(rin, seller, billing_mode="reserved", term="year", payment="none", hours=24)
    assert quote.rate_micros_per_hour == parse_money("1.377")
    assert quote.deposit_micros == 72 * parse_money("1.377")
    assert quote.due_now_micros == quote.deposit_micros + parse_money("1.377")
    assert quote.projected_micros == parse_money("33.048")
    assert quote.committed_micros == parse_money("12062.52")


def test_tiers_show_each_stretch(rin: User, seller: FakeHost) -> None:
    quote = quote_for(rin, seller, billing_mode="tiered", hours=2_100)
    assert [(line["quantity"], line["unit_price"]) for line in quote.lines] == [
        ("720", "3.06"),
        ("1280", "2.601"),
        ("100", "2.295"),
    ]
    assert quote.rate_micros_per_hour == parse_money("3.06")


def test_spot_is_projected_at_the_market_and_held_at_the_maximum(rin: User, seller: FakeHost) -> None:
    quote = quote_for(rin, seller, gpu_count=2, billing_mode="spot", max_price_micros=1_500_000, hours=10)
    assert quote.rate_micros_per_hour == 2_000_000
    assert (quote.projected_micros, quote.due_now_micros) == (20_000_000, 3_000_000)


@pytest.mark.parametrize(
    ("wishes", "field"),
    [
        ({"billing_mode": "reserved"}, "term"),
        ({"billing_mode": "reserved", "term": "week"}, "term"),
        ({"billing_mode": "reserved", "term": "day", "payment": "none"}, "payment"),
        ({"billing_mode": "reserved", "term": "year", "payment": "later"}, "payment"),
        ({"billing_mode": "reserved", "term": "year", "max_price_micros": 9_000_000}, "max_price"),
        ({"billing_mode": "spot"}, "max_price"),
        ({"billing_mode": "spot", "max_price_micros": 999_999}, "max_price"),
        ({"max_price_micros": 9_000_000}, "max_price"),
        ({"term": "year"}, "term"),
        ({"payment": "none"}, "payment"),
    ],
)
def test_wishes_of_a_mode(rin: User, seller: FakeHost, wishes: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        quote_for(rin, seller, **wishes)
    assert [error.field for error in refusal.value.errors] == [field]


@pytest.mark.parametrize("mode", ["reserved", "spot", "tiered"])
def test_a_mode_that_is_not_sold(rin: User, host: FakeHost, mode: str) -> None:
    sell(host, tiers=[])
    with pytest.raises(InvalidInput, match="Choose from: hourly"):
        quote_for(rin, host, billing_mode=mode)


def test_no_term_beyond_the_hosts_end(rin: User, seller: FakeHost) -> None:
    set_listed_until(actor_id=seller.owner.pk, host_id=seller.host.pk, until=clock.now() + timedelta(days=31))
    assert quote_for(rin, seller, billing_mode="reserved", term="month")
    with pytest.raises(InvalidInput, match="Choose a shorter term"):
        quote_for(rin, seller, billing_mode="reserved", term="year")


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
    new = renew_quote(renter=rin, quote_id=old.pk)
    assert (new.gpu_count, new.hours, new.data_disk_gb, new.image_id) == (2, 5, 7, old.image_id)
    assert (new.rate_micros_per_hour, new.offer_version) == (8_000_000, Offer.objects.get(pk=old.offer_id).version)
    with refused(), pytest.raises(NotFound):
        renew_quote(renter=bob, quote_id=old.pk)


def test_it_names_the_system_disk(rin: User, host: FakeHost) -> None:
    """Where the host limits roots the quote says to what; where it does not, it promises nothing."""
    assert quote_for(rin, host).system_disk_gb == 0
    Host.objects.update(root_limit="disk")
    refresh_offers_of_host(host_id=host.offer.host_id)
    quote = quote_for(rin, host)
    assert quote.system_disk_gb == 20
    assert quote.lines[1:] == [
        {"item": "System disk", "quantity": "20", "unit": "GB", "unit_price": "0.00", "amount": "0.00"}
    ]
    Host.objects.update(disk_free_gb=25)
    refresh_offers_of_host(host_id=host.offer.host_id)
    with pytest.raises(DiskTooLarge, match="enough space for another system disk"):
        quote_for(rin, host)
