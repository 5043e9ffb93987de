"""What the market shows for a wish can be quoted with it, and what it hides cannot: asked over HTTP, of both."""

import re
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from common import clock
from common.ids import public_id
from marketplace.leasing.availability import refresh_offers_of_host
from marketplace.models import Gpu, Host, Offer
from storage.images.register import register_image
from storage.models import Image
from tests.instances.fake_host import FakeHost
from tests.instances.fixtures import Sign
from tests.instances.test_api import post
from tests.profiles import examples

ROOM_GB = (0, 9, 10, 19, 20, 29, 30, 55, 120, 1_050)
DISK_GB = (0, 0, 1, 9, 10, 11, 30, 31, 50, 90, 100, 101, 1_000, 1_040, 20_000)
TERMS = ("day", "week", "month", "year", "year3")
STAYS_H = (None, None, -1, 1, 24, 167, 168, 720, 26_280)
# What a filter asks of an offer's JSON, beside the wishes.
FILTERS: Mapping[str, Any] = {
    "lease_hours_min": lambda offer, least: offer["max_lease_hours"] is None or offer["max_lease_hours"] >= least,
    "disk_free__gte": lambda offer, least: offer["disk"]["free_gb"] >= least,
    "gpu_total__lt": lambda offer, most: offer["gpu_total"] < most,
    "cuda_min": lambda offer, least: offer["cuda"] is not None and Decimal(offer["cuda"]) >= Decimal(least),
    "total__lte": lambda offer, most: Decimal(offer["total"]) <= Decimal(most),
}
ASKED: Mapping[str, tuple[object, ...]] = {
    "lease_hours_min": (0, 24, 200),
    "disk_free__gte": (10, 50),
    "gpu_total__lt": (2, 3),
    "cuda_min": ("11.8", "12.4"),
    "total__lte": ("1.5", "4", "7.2"),
}


@pytest.fixture
def hosts(hana: User, image: Image) -> list[FakeHost]:
    return [FakeHost(hana, gpus=number % 3 + 1) for number in range(6)]


@pytest.fixture
def images(rin: User, hosts: list[FakeHost]) -> tuple[str, ...]:
    """None named; for a new driver; large; saved on one host; own, and its login was removed."""
    register_image(slug="new-cuda", reference="new:1", title="New", cuda="12.1")
    register_image(slug="large", reference="large:1", title="Large")
    Image.objects.filter(slug="large").update(size_bytes=10_000_000_001)  # 31 GB on a disk
    for slug, more in (
        ("saved", {"source": "saved", "host_id": hosts[1].host.pk, "size_bytes": 5 * 10**12}),
        ("no-login", {"source": "named", "private": True}),
    ):
        Image.objects.create(slug=slug, title=slug, reference=f"{slug}:1", owner=rin, official=False, **more)
    return "", "", "new-cuda", "large", "saved", "no-login"


def shown(client: Client, wish: Mapping[str, object]) -> dict[str, Any]:
    """Offers by their ids; none where the search says that the image can run nowhere."""
    reply = client.get(
        "/api/v1/offers", {name: str(value) for name, value in wish.items() if value != ""} | {"limit": "200"}
    )
    if reply.status_code == 400:
        assert [error["field"] for error in reply.json()["errors"]] == ["image"], reply.content
        return {}
    assert reply.status_code == 200, reply.content
    return {offer["id"]: offer for offer in reply.json()["results"]}


def quoted(client: Client, hosts: list[FakeHost], wish: Mapping[str, object]) -> dict[str, Any]:
    """The quotes that are given with exactly this wish, by offer."""
    order = dict(wish) | {"image": wish.get("image") or "berth-base"}
    if order.get("billing_mode") == "spot":
        order["max_price"] = "1000"
    ids = [public_id("offr", each.offer.pk) for each in hosts]
    replies = {offer: post(client, "/api/v1/quotes", {**order, "offer": offer}) for offer in ids}
    assert {reply.status_code for reply in replies.values()} <= {201, 400, 409, 422}
    return {offer: reply.json() for offer, reply in replies.items() if reply.status_code == 201}


def any_state(chance: Random, host: FakeHost) -> None:
    """Of a host, its GPUs and its offer, all that a search or a quote asks about."""
    stays = chance.choice(STAYS_H)
    Host.objects.filter(pk=host.host.pk).update(
        root_limit=chance.choice(["disk", ""]),
        disk_free_gb=chance.choice(ROOM_GB),
        cuda=chance.choice(["", "11.8", "12.1", "12.4"]),
        listed_until=None if stays is None else clock.now() + timedelta(hours=stays),
        draining=chance.random() < 0.1,
        state=chance.choice(["online"] * 9 + ["silent"]),
    )
    Gpu.objects.filter(host=host.host).update(healthy=True)
    Gpu.objects.filter(host=host.host, index=0).update(healthy=chance.random() < 0.8)
    Offer.objects.filter(host=host.host).update(
        listed=chance.random() < 0.9,
        price_micros=chance.choice([1_000_000, 3_600_000]),
        reserved_discounts={term: 1_000 for term in TERMS if chance.random() < 0.7},
        tiers=chance.choice([[], [[2, 1_000]]]),
        spot_floor_micros=chance.choice([None, 500_000]),
        spot_now_micros=chance.choice([None, 800_000]),
        disk_micros_gb_day=chance.choice([0, 4_801]),
    )
    refresh_offers_of_host(host_id=host.host.pk)


def any_wish(chance: Random, images: tuple[str, ...]) -> dict[str, object]:
    mode = chance.choice(["hourly", "tiered", "reserved", "reserved", "spot"])
    term = {"term": chance.choice(TERMS)} if mode == "reserved" else {}
    counts = {"gpu_count": chance.randint(1, 3), "data_disk_gb": chance.choice(DISK_GB)}
    return {**counts, "billing_mode": mode, "image": chance.choice(images), **term}


def too_few(host: FakeHost, count: object) -> bool:
    offer = Offer.objects.get(pk=host.offer.pk)
    return offer.gpu_free + offer.gpu_spot < int(str(count))


@pytest.mark.parametrize("seed", range(examples(6, long=16)))
def test_an_offer_is_shown_if_and_only_if_it_can_be_quoted(
    rin: User, hosts: list[FakeHost], images: tuple[str, ...], sign: Sign, seed: int
) -> None:
    client, chance = sign(rin), Random(seed)
    for each in hosts:
        any_state(chance, each)
    for _ in range(6):
        wish = any_wish(chance, images)
        found, quotes = shown(client, wish), quoted(client, hosts, wish)
        # A bid may wait until GPUs are free; a search shows what is free.
        waiting = [public_id("offr", each.offer.pk) for each in hosts if too_few(each, wish["gpu_count"])]
        bids = set(waiting) if wish["billing_mode"] == "spot" else set()
        assert set(found) == set(quotes) - bids, wish
        assert {key: offer["total"] for key, offer in found.items()} == {key: quotes[key]["hourly_rate"] for key in found}
        name = chance.choice(list(FILTERS))
        value = chance.choice(ASKED[name])
        assert set(shown(client, wish | {name: value})) == {
            key for key, offer in found.items() if FILTERS[name](offer, value)
        }, (wish, name, value)


def test_a_host_without_room_for_another_root_is_not_shown(rin: User, hosts: list[FakeHost], sign: Sign) -> None:
    client, full = sign(rin), hosts[0]
    for limit, visible in (("disk", False), ("", True)):
        Host.objects.filter(pk=full.host.pk).update(root_limit=limit, disk_free_gb=5)
        refresh_offers_of_host(host_id=full.host.pk)
        assert (public_id("offr", full.offer.pk) in shown(client, {"data_disk_gb": 0})) is visible
        assert (public_id("offr", full.offer.pk) in quoted(client, hosts, {"data_disk_gb": 0})) is visible


def test_a_term_beyond_the_hosts_end_has_no_price_anywhere(rin: User, host: FakeHost, sign: Sign) -> None:
    Offer.objects.filter(pk=host.offer.pk).update(reserved_discounts=dict.fromkeys(TERMS, 1_000))
    Host.objects.filter(pk=host.host.pk).update(listed_until=clock.now() + timedelta(hours=720))
    refresh_offers_of_host(host_id=host.host.pk)
    client, key, stays = sign(rin), public_id("offr", host.offer.pk), {"day", "week", "month"}
    for term in TERMS:
        wish = {"billing_mode": "reserved", "term": term}
        one = client.get(f"/api/v1/offers/{key}", wish).json()
        [compared] = client.get("/api/v1/offers/compare", {"ids": key, **wish}).json()["results"]
        page = client.get("/compare", {"ids": key, **wish})
        prices = next(line for line in page.context["prices"] if line.label.startswith("Reserved"))
        priced = (key in shown(client, wish), one["price"], compared["price"], prices.cells[0].value)
        assert [bool(each) for each in priced] == [term in stays] * 4, (term, priced)
    browser = Client()
    browser.force_login(rin)
    assert set(re.findall(r"term=(\w+)", browser.get(f"/offers/{key}").content.decode())) == stays
    rent = browser.get(f"/offers/{key}/rent").content.decode()
    assert set(re.findall(r'name="term" value="(\w+)"', rent)) == stays


def test_the_rent_page_offers_the_images_that_the_host_can_run(
    rin: User, hosts: list[FakeHost], images: tuple[str, ...]
) -> None:
    browser, names = Client(), ("berth-base", "new-cuda", "large", "saved", "no-login")
    browser.force_login(rin)
    Host.objects.filter(pk__in=[hosts[0].host.pk, hosts[1].host.pk]).update(disk_free_gb=30, cuda="11.8")
    for each, expected in (
        (hosts[0], ["berth-base"]),
        (hosts[1], ["berth-base", "saved"]),
        (hosts[2], ["berth-base", "new-cuda", "large"]),
    ):
        refresh_offers_of_host(host_id=each.host.pk)
        page = browser.get(f"/offers/{public_id('offr', each.offer.pk)}/rent").content.decode()
        assert [name for name in names if f'value="{name}"' in page] == expected


def test_an_image_is_offered_on_no_gpu_that_its_cuda_has_dropped(hana: User, rin: User, image: Image) -> None:
    """CUDA 12.9 is the last version for a V100, whose newest driver says 13.0 all the same."""
    old, new = FakeHost(hana, model="Tesla V100-SXM2-32GB"), FakeHost(hana)
    for each in (old, new):
        Host.objects.filter(pk=each.host.pk).update(cuda="13.0")
        refresh_offers_of_host(host_id=each.host.pk)
    register_image(slug="cuda-12", reference="twelve:1", title="Twelve", cuda="12.9")
    register_image(slug="cuda-13", reference="thirteen:1", title="Thirteen", cuda="13.0")
    browser = Client()
    browser.force_login(rin)
    both = {public_id("offr", each.offer.pk) for each in (old, new)}
    for name, expected in (("cuda-12", both), ("cuda-13", both - {public_id("offr", old.offer.pk)})):
        assert shown(browser, {"image": name}).keys() == quoted(browser, [old, new], {"image": name}).keys() == expected
    page = browser.get(f"/offers/{public_id('offr', old.offer.pk)}/rent").content.decode()
    assert 'value="cuda-12"' in page and 'value="cuda-13"' not in page
    refused = post(browser, "/api/v1/quotes", {"offer": public_id("offr", old.offer.pk), "image": "cuda-13"}).json()
    assert (refused["code"], "V100" in refused["detail"], "12.9" in refused["detail"]) == ("image_needs_cuda", True, True)
