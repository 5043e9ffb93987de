"""`gpu_free` under parallel leases and releases: exact at every commit; wrong without the lock before the count."""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from uuid import UUID, uuid4

import pytest

from accounts.models import User
from common import clock
from common.db.transactions import use_case
from marketplace.errors import GpuTaken, OfferClosed
from marketplace.hosts.hosts import record_report
from marketplace.hosts.offers import set_draining
from marketplace.leasing import availability
from marketplace.leasing.availability import compare_offers
from marketplace.leasing.lease import release_leases
from marketplace.models import Host, Lease, Offer
from tests.lock_waits import wait_until_one_waits_for_us
from tests.marketplace.parallel import at_once, in_background
from tests.marketplace.shapes import enrolled, leased, offer_of

pytestmark = pytest.mark.django_db(transaction=True)

THREADS = 32


@pytest.fixture
def host(hana: User) -> Host:
    return enrolled(hana, 8)


@pytest.fixture
def held(host: Host) -> tuple[UUID, UUID]:
    """Two holders of one GPU each."""
    holders = uuid4(), uuid4()
    for holder in holders:
        leased(offer_of(host), holder=holder)
    return holders


def _release(holder: UUID) -> None:
    with use_case():
        release_leases(holder=holder, reason="stopped")


def _overlap(first: Callable[[], object], second: Callable[[], object]) -> object:
    """`second` begins while `first` is done but not committed, and is held up by it; what `second` raised, if anything."""
    with ThreadPoolExecutor(1) as pool:
        with use_case():
            first()
            other = in_background(pool, second)
            wait_until_one_waits_for_us()
        return other.exception(timeout=20)


def test_two_releases_that_overlap_both_count(host: Host, held: tuple[UUID, UUID]) -> None:
    failure = _overlap(lambda: release_leases(holder=held[0], reason="stopped"), lambda: _release(held[1]))
    assert failure is None
    assert offer_of(host).gpu_free == 8
    assert compare_offers() == []


def test_without_the_lock_before_the_count_one_release_is_lost(
    host: Host, held: tuple[UUID, UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of the test above: an UPDATE that waited goes on with its old snapshot."""
    monkeypatch.setattr(availability, "lock_offers", lambda _ids: [])
    failure = _overlap(lambda: release_leases(holder=held[0], reason="stopped"), lambda: _release(held[1]))
    assert failure is None
    assert offer_of(host).gpu_free == 7
    assert [difference.column for difference in compare_offers()] == ["gpu_free"]


def test_thirty_two_threads_leave_an_exact_count(host: Host) -> None:
    """And at no moment in between does a look at the committed rows find a difference."""
    offer, done, found = offer_of(host), Event(), []

    def lease_and_release(number: int) -> int:
        chance, won = random.Random(number), 0
        for _ in range(6):
            holder = uuid4()
            try:
                leased(offer, chance.randint(1, 3), holder=holder)
            except GpuTaken:
                continue
            won += 1
            _release(holder)
        return won

    def watch() -> int:
        looks = 0
        while not done.is_set():
            found.extend(compare_offers())
            looks += 1
        return looks

    with ThreadPoolExecutor(1) as pool:
        watcher = in_background(pool, watch)
        results = at_once(THREADS, lease_and_release)
        done.set()
        assert watcher.result() > 0
    assert [result for result in results if isinstance(result, Exception)] == []
    assert sum(results) > 0
    assert found == []
    assert offer_of(host).gpu_free == 8
    assert compare_offers() == []


def test_fault_006_a_drain_that_commits_first_closes_the_offer(hana: User, host: Host) -> None:
    offer = offer_of(host)

    def lease() -> None:
        leased(offer)

    def drain() -> None:
        Host.objects.filter(pk=host.pk).update(draining=True)
        availability.refresh_offers_of_host(host_id=host.pk)

    assert isinstance(_overlap(drain, lease), OfferClosed)
    assert not Lease.objects.exists()


def test_fault_006_a_lease_that_commits_first_stays(hana: User, host: Host) -> None:
    offer, holder = offer_of(host), uuid4()

    def lease() -> None:
        Host.objects.select_for_update(no_key=True).get(pk=host.pk)
        Lease.objects.create(gpu=host.gpus.all()[0], offer=offer, holder=holder, price_micros=1)
        availability.refresh_offers(offer_ids=[offer.pk])

    failure = _overlap(lease, lambda: set_draining(actor_id=hana.pk, host_id=host.pk, draining=True))
    assert failure is None
    assert Lease.objects.get().released_at is None
    assert offer_of(host).gpu_free == 0
    assert compare_offers() == []


def test_leases_releases_reports_and_drains_at_once_end_exact(hana: User, host: Host) -> None:
    offer = Offer.objects.get(host=host)

    def everything(number: int) -> None:
        chance = random.Random(number)
        for step in range(10):
            holder = uuid4()
            if number == 0:
                set_draining(actor_id=hana.pk, host_id=host.pk, draining=step % 2 == 0)
            elif number == 1:
                age = chance.choice([0.0, 100.0])
                record_report(host_id=host.pk, at=clock.now(), engine_age_s=age, agent_version="1")
            else:
                try:
                    leased(offer, holder=holder)
                except (GpuTaken, OfferClosed):
                    continue
                _release(holder)

    assert [result for result in at_once(10, everything) if result is not None] == []
    record_report(host_id=host.pk, at=clock.now(), engine_age_s=0.0, agent_version="1")
    assert offer_of(host).gpu_free == 8
    assert compare_offers() == []
