"""Renting: everything or nothing."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from accounts.ssh_keys.services import add_ssh_key
from billing.errors import InsufficientFunds
from billing.models import Hold
from common import clock
from common.change_counters import version_of
from common.errors import DomainError, NotFound
from instances.constants import DEADLINES
from instances.errors import NoPorts, QuoteExpired, QuoteUsed
from instances.models import Instance, InstanceEvent, InstancePort, Quote
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from marketplace.errors import GpuTaken, OfferClosed, PriceChanged
from marketplace.hosts.offers import set_draining, set_price
from marketplace.leasing.selectors import live_leases_of
from marketplace.models import Lease, Offer
from storage.images.register import register_image
from storage.models import Image
from tests.billing.money import UNIT, grant, wallet
from tests.instances.fake_host import FakeHost, order, refused, reload
from tests.instances.fixtures import Clock

KEYS = [
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGv2LwJ0o4lOl0m0M5o6h7l9bX2K5c1n8QyY3b6o3r1a one",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK0wmN/Cr3JXqmLW7u+g9pTh+wyqDHpSQEIQczXkVx9q two",
]


@pytest.fixture
def quote(rin: User, host: FakeHost) -> Quote:
    return create_quote(renter=rin, offer_id=host.offer.pk, image="berth-base", gpu_count=2, data_disk_gb=10)


def nothing_happened(rin: User) -> None:
    assert not Instance.objects.exists()
    assert not Lease.objects.exists()
    assert not Hold.objects.exists()
    assert not InstancePort.objects.exists()
    assert wallet(rin).held_micros == 0


def fails(error: type[DomainError], renter: User, quote: Quote, **options: Any) -> None:
    with pytest.raises(error), refused():
        rent_instance(renter=renter, quote_id=quote.pk, **options)


def test_it_holds_leases_and_writes(rin: User, host: FakeHost, quote: Quote) -> None:
    instance = reload(rent_instance(renter=rin, quote_id=quote.pk, name="my box"))
    assert (instance.name, instance.state, instance.desired) == ("my box", "requested", "running")
    assert (instance.run_generation, instance.fence, instance.observed_generation) == (1, 1, 0)
    assert {lease.gpu_uuid for lease in live_leases_of(instance.pk)} == set(instance.gpu_uuids)
    assert (len(instance.gpu_uuids), instance.gpu_count) == (2, 2)
    assert (instance.cpu_millis, instance.ram_mb) == (16_000, 61_440)
    assert Hold.objects.get(source_id=instance.pk).amount_micros == 7_200_000
    assert wallet(rin).held_micros == 7_200_000
    assert Offer.objects.get(pk=instance.offer_id).gpu_free == 2
    assert instance.deadline == clock.now() + DEADLINES["requested"]
    assert InstanceEvent.objects.get().kind == "rented"
    assert reload(instance).quote.used_at == clock.now()


def test_ports_are_for_what_the_image_serves_and_never_shared(rin: User, host: FakeHost) -> None:
    first, second = order(rin, host), order(rin, host)
    assert [inside for inside, _ in first.ports] == [22, 8888, 6006]
    outside = [port for instance in (first, second) for _, port in reload(instance).ports]
    assert len(set(outside)) == 6
    assert all(40_000 <= port < 40_300 for port in outside)
    assert set(InstancePort.objects.values_list("host_port", flat=True)) == set(outside)


def test_a_plain_image_gets_ssh_alone_and_no_jupyter_token(rin: User, host: FakeHost) -> None:
    register_image(slug="plain", reference="berth/plain:1", title="Plain")
    quote = create_quote(renter=rin, offer_id=host.offer.pk, image="plain")
    instance = rent_instance(renter=rin, quote_id=quote.pk)
    assert [inside for inside, _ in instance.ports] == [22]
    assert instance.jupyter_token == ""
    assert re.fullmatch(r"plain-[0-9a-f]{6}", instance.name)


def test_fault_040_without_ports_nothing_is_rented(rin: User, hana: User, image: Image, hours: Clock) -> None:
    narrow = FakeHost(hana, ports=5)
    order(rin, narrow)
    quote = create_quote(renter=rin, offer_id=narrow.offer.pk, image="berth-base")
    fails(NoPorts, rin, quote)
    assert Instance.objects.count() == Lease.objects.count() == Hold.objects.count() == 1


def test_keys_are_copied_at_rent(rin: User, bob: User, quote: Quote, host: FakeHost) -> None:
    first, second = (add_ssh_key(user=rin, name="", public_key=text) for text in KEYS)
    instance = rent_instance(renter=rin, quote_id=quote.pk)
    assert set(reload(instance).ssh_keys) == {first.public_key, second.public_key}
    other = create_quote(renter=rin, offer_id=host.offer.pk, image="berth-base")
    assert rent_instance(renter=rin, quote_id=other.pk, ssh_key_ids=[second.pk]).ssh_keys == [second.public_key]
    third = create_quote(renter=rin, offer_id=host.offer.pk, image="berth-base")
    assert rent_instance(renter=rin, quote_id=third.pk, ssh_key_ids=[]).ssh_keys == []


def test_a_key_of_someone_else(rin: User, bob: User, quote: Quote) -> None:
    foreign = add_ssh_key(user=bob, name="", public_key=KEYS[0])
    fails(NotFound, rin, quote, ssh_key_ids=[foreign.pk])
    nothing_happened(rin)


def test_a_quote_expires(rin: User, quote: Quote, hours: Clock) -> None:
    hours.advance(minutes=10)
    fails(QuoteExpired, rin, quote)
    nothing_happened(rin)


def test_a_quote_is_good_for_one_order(rin: User, quote: Quote) -> None:
    rent_instance(renter=rin, quote_id=quote.pk)
    fails(QuoteUsed, rin, quote)
    assert Instance.objects.count() == 1


def test_a_quote_is_its_renters_alone(rin: User, bob: User, quote: Quote) -> None:
    grant(bob, 100 * UNIT)
    fails(NotFound, bob, quote)
    with pytest.raises(NotFound), refused():
        rent_instance(renter=rin, quote_id=uuid4())


def test_fault_005_the_price_of_the_quote_or_none(rin: User, host: FakeHost, quote: Quote) -> None:
    set_price(actor_id=host.owner.pk, offer_id=host.offer.pk, price_micros=1)
    fails(PriceChanged, rin, quote)
    nothing_happened(rin)
    assert Quote.objects.get(pk=quote.pk).used_at is None, "the quote is not spent"


def test_fault_006_draining_blocks_new_rents(rin: User, host: FakeHost, quote: Quote) -> None:
    set_draining(actor_id=host.owner.pk, host_id=host.host.pk, draining=True)
    fails(OfferClosed, rin, quote)
    nothing_happened(rin)


def test_taken(rin: User, bob: User, host: FakeHost, quote: Quote) -> None:
    grant(bob, 100 * UNIT)
    order(bob, host, gpu_count=3)
    fails(GpuTaken, rin, quote)
    assert Instance.objects.count() == 1


def test_the_wallet_must_hold_one_hour(bob: User, host: FakeHost) -> None:
    grant(bob, 7_199_999)
    quote = create_quote(renter=bob, offer_id=host.offer.pk, image="berth-base", gpu_count=2)
    with pytest.raises(InsufficientFunds) as refusal, refused():
        rent_instance(renter=bob, quote_id=quote.pk)
    assert refusal.value.extra == {"needed": "7.20", "spendable": "7.199999"}
    nothing_happened(bob)
    grant(bob, 1)
    assert rent_instance(renter=bob, quote_id=quote.pk).state == "requested"


def test_an_image_that_was_withdrawn(rin: User, quote: Quote) -> None:
    Image.objects.update(active=False)
    fails(NotFound, rin, quote)


@pytest.mark.django_db(transaction=True)
def test_agent_and_pages_are_woken_after_the_commit(rin: User, host: FakeHost) -> None:
    topics = [f"host:{host.host.pk.hex}", f"user:{rin.pk.hex}"]
    before = [version_of(topic) for topic in topics]
    order(rin, host)
    assert all(version_of(topic) > number for topic, number in zip(topics, before, strict=True))


def test_it_stays_lean(rin: User, quote: Quote) -> None:
    with CaptureQueriesContext(connection) as queries:
        rent_instance(renter=rin, quote_id=quote.pk)
    real = [query["sql"] for query in queries if not query["sql"].startswith(("SAVEPOINT", "RELEASE", "SET LOCAL"))]
    assert len(real) <= 22, "\n".join(real)
