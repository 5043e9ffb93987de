"""What the market shows for a wish can be quoted with it, and what it hides cannot: asked over HTTP, of both."""

from collections.abc import Mapping
from random import Random

import pytest
from django.test import Client

from accounts.models import User
from common.ids import public_id
from marketplace.models import Host, Offer
from marketplace.services.availability import refresh_offers_of_host
from storage.models import Image
from tests.instances.fake_host import FakeHost
from tests.instances.fixtures import Sign
from tests.instances.test_api import post

ROOM_GB = (0, 9, 10, 19, 20, 29, 30, 55, 120, 1_050)
DISK_GB = (0, 1, 9, 10, 11, 30, 31, 50, 90, 100, 101, 1_000, 1_040, 20_000)


@pytest.fixture
def hosts(hana: User, image: Image) -> list[FakeHost]:
    return [FakeHost(hana, gpus=number % 3 + 1) for number in range(6)]


def shown(client: Client, wish: Mapping[str, object]) -> set[str]:
    reply = client.get("/api/v1/offers", {name: str(value) for name, value in wish.items()} | {"limit": "200"})
    assert reply.status_code == 200, reply.content
    return {offer["id"] for offer in reply.json()["results"]}


def quoted(client: Client, hosts: list[FakeHost], wish: Mapping[str, object]) -> set[str]:
    """The offers for which a quote with exactly this wish is given."""
    ids = [public_id("offr", each.offer.pk) for each in hosts]
    replies = {offer: post(client, "/api/v1/quotes", {**wish, "offer": offer, "image": "berth-base"}) for offer in ids}
    assert {reply.status_code for reply in replies.values()} <= {201, 400, 409}
    return {offer for offer, reply in replies.items() if reply.status_code == 201}


@pytest.mark.parametrize("seed", range(12))
def test_an_offer_is_shown_if_and_only_if_it_can_be_quoted(rin: User, hosts: list[FakeHost], sign: Sign, seed: int) -> None:
    client, chance = sign(rin), Random(seed)
    for each in hosts:
        limit = chance.choice(["disk", ""])
        Host.objects.filter(pk=each.host.pk).update(root_limit=limit, disk_free_gb=chance.choice(ROOM_GB))
        refresh_offers_of_host(host_id=each.host.pk)
    for _ in range(6):
        wish: dict[str, object] = {"gpu_count": chance.randint(1, 3), "data_disk_gb": chance.choice(DISK_GB)}
        wish["billing_mode"] = chance.choice(["hourly", "tiered"])
        assert shown(client, wish) == quoted(client, hosts, wish), (wish, list(Offer.objects.values("disk_free_gb")))


def test_a_host_without_room_for_another_root_is_not_shown(rin: User, hosts: list[FakeHost], sign: Sign) -> None:
    client, full = sign(rin), hosts[0]
    for limit, visible in (("disk", False), ("", True)):
        Host.objects.filter(pk=full.host.pk).update(root_limit=limit, disk_free_gb=5)
        refresh_offers_of_host(host_id=full.host.pk)
        assert (public_id("offr", full.offer.pk) in shown(client, {"data_disk_gb": 0})) is visible
        assert (public_id("offr", full.offer.pk) in quoted(client, hosts, {"data_disk_gb": 0})) is visible
