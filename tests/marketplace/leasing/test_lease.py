"""Leases: all or nothing, named GPUs, given back once, and refused with a reason that helps."""

from datetime import timedelta
from uuid import uuid4

import pytest
import time_machine
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from common import clock
from common.errors import InvalidInput, NotFound
from marketplace.errors import GpuTaken, OfferClosed, PriceChanged
from marketplace.hosts.offers import check_offers, set_draining, set_listed, set_price
from marketplace.leasing.lease import release_leases
from marketplace.leasing.selectors import live_leases, live_leases_of
from marketplace.models import Gpu, Host, Lease, Offer
from tests.marketplace.shapes import PRICE, enrolled, gpu, leased, offer_of


def test_a_lease_tells_what_was_got(host: Host, offer: Offer) -> None:
    holder = uuid4()
    got = leased(offer, 2, holder=holder, expected_version=offer.version)
    assert set(got.gpu_uuids) == set(Gpu.objects.values_list("uuid", flat=True))
    assert (got.price_micros, got.host_id, got.offer_version, got.simulated) == (PRICE, host.pk, offer.version, False)
    assert (got.cpu_millis, got.ram_mb) == (2 * offer.cpu_millis_per_gpu, 2 * offer.ram_mb_per_gpu)
    assert offer_of(host).gpu_free == 0
    assert [lease.gpu_uuid for lease in live_leases_of(holder)] == list(got.gpu_uuids)
    assert {lease.holder for lease in live_leases()} == {holder}


def test_a_lease_takes_few_statements(offer: Offer) -> None:
    with CaptureQueriesContext(connection) as queries:
        leased(offer)
    around = ("SAVEPOINT", "RELEASE", "SET LOCAL")
    assert len([query for query in queries if not query["sql"].startswith(around)]) == 6


def test_all_or_nothing(host: Host, offer: Offer) -> None:
    leased(offer)
    with pytest.raises(GpuTaken):
        leased(offer, 2)
    assert offer_of(host).gpu_free == 1
    assert Lease.objects.count() == 1


def test_preferred_gpus_come_first(hana: User) -> None:
    offer = offer_of(enrolled(hana, 4))
    uuids = list(Gpu.objects.order_by("index").values_list("uuid", flat=True))
    assert leased(offer, prefer=[uuids[3], "GPU-unknown"]).gpu_uuids == (uuids[3],)
    assert leased(offer, 2, prefer=[uuids[3], uuids[2]]).gpu_uuids == (uuids[2], uuids[0])
    assert leased(offer).gpu_uuids == (uuids[1],)


def test_release_is_idempotent_and_exact(host: Host, offer: Offer) -> None:
    one, other = uuid4(), uuid4()
    leased(offer, holder=one)
    leased(offer, holder=other)
    assert release_leases(holder=one, reason="stopped") == 1
    assert release_leases(holder=one, reason="stopped") == 0
    assert release_leases(holder=uuid4(), reason="stopped") == 0
    assert offer_of(host).gpu_free == 1
    ended = Lease.objects.get(holder=one)
    assert ended.release_reason == "stopped" and ended.released_at is not None
    assert [lease.holder for lease in live_leases()] == [other]
    assert check_offers(repair=False) == []


def test_fault_057_a_clock_set_back_does_not_keep_a_lease_alive(offer: Offer) -> None:
    holder = uuid4()
    leased(offer, holder=holder)
    with time_machine.travel(clock.now() - timedelta(days=1)):
        assert release_leases(holder=holder, reason="stopped") == 1
    ended = Lease.objects.get()
    assert ended.released_at == ended.leased_at


def test_fault_005_a_changed_price_is_refused(hana: User, host: Host, offer: Offer) -> None:
    set_price(actor_id=hana.pk, offer_id=offer.pk, price_micros=PRICE + 1)
    with pytest.raises(PriceChanged):
        leased(offer, expected_version=offer.version)
    now = offer_of(host)
    assert leased(offer, expected_version=now.version).price_micros == PRICE + 1


def test_fault_006_closed_offers_are_refused_and_running_leases_stay(hana: User, host: Host, offer: Offer) -> None:
    leased(offer)
    set_draining(actor_id=hana.pk, host_id=host.pk, draining=True)
    with pytest.raises(OfferClosed, match="maintenance"):
        leased(offer)
    set_draining(actor_id=hana.pk, host_id=host.pk, draining=False)
    set_listed(actor_id=hana.pk, offer_id=offer.pk, listed=False)
    with pytest.raises(OfferClosed, match="off the market"):
        leased(offer)
    assert Lease.objects.filter(released_at=None).count() == 1


def test_the_reason_told_is_the_first_that_matters(hana: User, offer: Offer) -> None:
    leased(offer, 2)
    set_price(actor_id=hana.pk, offer_id=offer.pk, price_micros=PRICE + 1)
    with pytest.raises(PriceChanged):
        leased(offer, expected_version=offer.version)
    with pytest.raises(GpuTaken):
        leased(offer)


def test_nonsense_is_refused(offer: Offer) -> None:
    with pytest.raises(NotFound):
        leased(Offer(pk=uuid4()))
    for count in (0, -1):
        with pytest.raises(InvalidInput):
            leased(offer, count)


def test_ill_gpus_are_never_leased_even_when_the_count_lies(hana: User) -> None:
    """The offer's count is for search; a lease looks at the GPUs."""
    host = enrolled(hana, [gpu(), gpu(healthy=False)])
    Offer.objects.update(gpu_free=2)
    with pytest.raises(GpuTaken, match="1 are free"):
        leased(offer_of(host), 2)


def test_simulated_gpus_say_so(hana: User) -> None:
    assert leased(offer_of(enrolled(hana, [gpu(simulated=True)]))).simulated is True


def test_the_index_stands_alone(offer: Offer) -> None:
    """The wall that no bug in Python can pass."""
    leased(offer, 2)
    lease = Lease.objects.first()
    assert lease is not None
    with pytest.raises(IntegrityError, match="one_live_lease_per_gpu"), transaction.atomic():
        Lease.objects.create(gpu_id=lease.gpu_id, offer=offer, holder=uuid4(), price_micros=1)
