"""One GPU, many renters: each wall alone lets one through; with every wall down the same race sells the GPU twice (D10)."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from accounts.models import User
from common.db.transactions import use_case
from marketplace.errors import GpuTaken
from marketplace.hosts.offers import check_offers
from marketplace.leasing import lease as lease_service
from marketplace.leasing.lease import release_leases
from marketplace.models import Gpu, Lease, Offer
from tests.billing.money import execute_as_owner
from tests.lock_waits import take_locks_down
from tests.marketplace.parallel import at_once
from tests.marketplace.shapes import enrolled, leased, offer_of

pytestmark = pytest.mark.django_db(transaction=True)

RIVALS = 40
ROUNDS = 5
INDEX = "one_live_lease_per_gpu"


@pytest.fixture
def last_gpu(hana: User) -> Offer:
    return offer_of(enrolled(hana, 1, cpu_cores=64, ram_mb=1_048_576))


@pytest.fixture
def locks_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """No row is locked nor skipped, and every rival has chosen its GPU before the first writes."""
    everybody = Barrier(RIVALS)
    choose = lease_service.choose_gpus

    def choose_together(offer: Offer, count: int, prefer: Sequence[str]) -> list[Gpu]:
        gpus = choose(offer, count, prefer)
        with suppress(BrokenBarrierError):
            everybody.wait(timeout=20)
        return gpus

    take_locks_down(monkeypatch)
    monkeypatch.setattr(lease_service, "choose_gpus", choose_together)


@pytest.fixture
def share_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPU and memory are not counted: that wall would hide what the others do."""
    monkeypatch.setattr(lease_service, "check_share", lambda *_: None)


@pytest.fixture
def index_down() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = %s", [INDEX])
        (definition,) = cursor.fetchone()
    execute_as_owner(f"DROP INDEX {INDEX}")
    yield
    execute_as_owner("TRUNCATE marketplace_lease CASCADE")
    execute_as_owner(definition)


def _race(offer: Offer) -> Counter[str]:
    """What the rivals got: `LeasedGpus` or the error's name."""
    return Counter(type(result).__name__ for result in at_once(RIVALS, lambda _: leased(offer)))


def _holders() -> int:
    return Lease.objects.filter(released_at=None).count()


@pytest.mark.usefixtures("locks_down", "share_down", "index_down")
def test_with_the_walls_down_the_gpu_is_sold_more_than_once(last_gpu: Offer) -> None:
    assert _race(last_gpu) == {"LeasedGpus": RIVALS}
    assert _holders() == RIVALS


@pytest.mark.usefixtures("locks_down", "share_down")
def test_the_index_alone_lets_one_through(last_gpu: Offer) -> None:
    assert _race(last_gpu) == {"LeasedGpus": 1, "GpuTaken": RIVALS - 1}
    assert _holders() == 1


@pytest.mark.usefixtures("share_down", "index_down")
def test_the_locks_alone_let_one_through(last_gpu: Offer) -> None:
    assert _race(last_gpu) == {"LeasedGpus": 1, "GpuTaken": RIVALS - 1}
    assert _holders() == 1


def test_fault_003_one_wins_the_others_get_a_stable_code(last_gpu: Offer) -> None:
    for _ in range(ROUNDS):
        assert _race(last_gpu) == {"LeasedGpus": 1, "GpuTaken": RIVALS - 1}
        winner = Lease.objects.get(released_at=None).holder
        assert check_offers(repair=False) == []
        assert release_leases(holder=winner, reason="stopped") == 1
    assert Lease.objects.count() == ROUNDS
    assert GpuTaken.code == "gpu_taken" and GpuTaken.status == 409


def test_fault_004_many_gpus_in_any_order_never_deadlock(hana: User) -> None:
    """All or nothing, and no error but GpuTaken, whatever subset each prefers and in whatever order."""
    offer = offer_of(enrolled(hana, 8))
    uuids = list(Gpu.objects.values_list("uuid", flat=True))

    def rent_and_release(number: int) -> list[str]:
        chance, seen = random.Random(number), []
        for _ in range(25):
            holder = uuid4()
            try:
                got = leased(offer, chance.randint(2, 5), holder=holder, prefer=chance.sample(uuids, 8))
            except GpuTaken:
                seen.append("taken")
                continue
            held = set(Lease.objects.filter(holder=holder).values_list("gpu__uuid", flat=True))
            seen.append("leased" if held == set(got.gpu_uuids) else "torn")
            with use_case():
                release_leases(holder=holder, reason="stopped")
        return seen

    results: list[Any] = at_once(12, rent_and_release)
    assert [result for result in results if isinstance(result, Exception)] == []
    outcomes = Counter(outcome for result in results for outcome in result)
    assert outcomes["torn"] == 0 and outcomes["leased"] > 0
    assert _holders() == 0
    assert offer_of(offer.host).gpu_free == 8
    assert check_offers(repair=False) == []
