"""Races for GPUs, money, quotes and keys through the whole of renting, each paired with its walls taken down."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from random import Random
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from django.db import connection

from accounts.idempotency.services import run_once
from accounts.models import RememberedReply, User
from billing.models import Hold
from common.errors import DomainError
from common.ids import public_id
from instances.models import Instance, InstancePort, Quote
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from marketplace.hosts.offers import check_offers
from marketplace.leasing import lease as lease_service
from marketplace.models import Gpu, Lease, Offer
from storage.models import Image
from tests.billing.money import UNIT, assert_sound, execute_as_owner, grant, in_parallel, wallet
from tests.instances.fake_host import FakeHost
from tests.lock_waits import take_locks_down

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = 40  # PostgreSQL's default is 100 connections
ROUNDS = 5


def quotes(renter: User, host: FakeHost, count: int, gpu_count: int = 1) -> list[Quote]:
    offer_id = host.offer.pk
    return [create_quote(renter=renter, offer_id=offer_id, image="berth-base", gpu_count=gpu_count) for _ in range(count)]


def rents(renter: User, orders: list[Quote]) -> list[Callable[[], object]]:
    return [partial(rent_instance, renter=renter, quote_id=quote.pk) for quote in orders]


def outcome(result: object) -> str:
    """A rent, or the stable code of its refusal; anything else stands out by its type."""
    if isinstance(result, Instance):
        return "rented"
    return result.code if isinstance(result, DomainError) else repr(result)


def live_leases() -> list[Any]:
    return list(Lease.objects.filter(released_at=None).values_list("gpu_id", flat=True))


# -- one GPU


def test_fault_003_the_last_gpu_is_rented_once(rich: User, hana: User, image: Image) -> None:
    for _ in range(ROUNDS):
        host = FakeHost(hana, gpus=1)
        before = Instance.objects.count()
        results = Counter(map(outcome, in_parallel(rents(rich, quotes(rich, host, AT_ONCE)))))
        assert results == {"rented": 1, "gpu_taken": AT_ONCE - 1}
        assert Instance.objects.count() == before + 1
    assert len(live_leases()) == len(set(live_leases())) == ROUNDS
    assert Hold.objects.filter(released_at=None).count() == ROUNDS
    assert wallet(rich).held_micros == ROUNDS * 3_600_000
    assert check_offers(repair=False) == []
    assert_sound()


@pytest.fixture
def locks_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """No row is locked, and both have chosen their GPU before one of them writes. CPU and memory are not counted."""
    both, choose = Barrier(2), lease_service.choose_gpus

    def choose_together(offer: Offer, count: int, prefer: Sequence[str]) -> list[Gpu]:
        gpus = choose(offer, count, prefer)
        with suppress(BrokenBarrierError):
            both.wait(timeout=20)
        return gpus

    take_locks_down(monkeypatch)
    monkeypatch.setattr(lease_service, "choose_gpus", choose_together)
    monkeypatch.setattr(lease_service, "check_share", lambda *_: None)


@pytest.fixture
def index_down() -> Iterator[None]:
    """The last wall: the partial unique index."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_indexdef('one_live_lease_per_gpu'::regclass)")
        (definition,) = cursor.fetchone()
    execute_as_owner("DROP INDEX one_live_lease_per_gpu")
    yield
    execute_as_owner("TRUNCATE marketplace_lease CASCADE")
    execute_as_owner(definition)


@pytest.fixture
def two_renters(alice: User, bob: User) -> tuple[User, User]:
    """Of two wallets, so that no wallet's lock keeps them apart."""
    for renter in (alice, bob):
        grant(renter, 100 * UNIT)
    return alice, bob


def race_of_two(renters: tuple[User, User], hana: User) -> Counter[str]:
    host = FakeHost(hana, gpus=1, ports=20_000)  # so many that two who do not wait for each other do not meet
    works = [work for renter in renters for work in rents(renter, quotes(renter, host, 1))]
    return Counter(map(outcome, in_parallel(works)))


@pytest.mark.usefixtures("locks_down")
def test_without_locks_the_index_still_stands(two_renters: tuple[User, User], hana: User, image: Image) -> None:
    assert race_of_two(two_renters, hana) == {"rented": 1, "gpu_taken": 1}
    assert len(live_leases()) == 1


@pytest.mark.usefixtures("index_down")
def test_without_the_index_the_locks_still_stand(two_renters: tuple[User, User], hana: User, image: Image) -> None:
    assert race_of_two(two_renters, hana) == {"rented": 1, "gpu_taken": 1}
    assert len(live_leases()) == 1


@pytest.mark.usefixtures("locks_down", "index_down")
def test_fault_003_with_both_walls_down_the_gpu_is_sold_twice(
    two_renters: tuple[User, User], hana: User, image: Image
) -> None:
    assert race_of_two(two_renters, hana) == {"rented": 2}
    assert len(live_leases()) == 2
    assert len(set(live_leases())) == 1


# -- many GPUs, little money


def test_fault_004_orders_of_several_gpus_are_all_or_nothing(rich: User, bob: User, hana: User, image: Image) -> None:
    grant(bob, 100_000 * UNIT)
    random = Random(4)
    host = FakeHost(hana, gpus=16)
    orders = [(renter, random.randint(1, 4)) for renter in (rich, bob) for _ in range(AT_ONCE // 2)]
    works = [work for renter, count in orders for work in rents(renter, quotes(renter, host, 1, count))]
    results = Counter(map(outcome, in_parallel(works)))
    assert set(results) == {"rented", "gpu_taken"}
    assert len(live_leases()) == len(set(live_leases())) <= 16
    for instance in Instance.objects.all():
        held = Lease.objects.filter(holder=instance.pk, released_at=None)
        assert {lease.gpu.uuid for lease in held} == set(instance.gpu_uuids)
        assert len(instance.gpu_uuids) == instance.gpu_count
    taken = InstancePort.objects.values_list("host_port", flat=True)
    assert len(taken) == len(set(taken)) == 3 * results["rented"]
    assert check_offers(repair=False) == []


def test_fault_008_money_for_seven_rents_seven(alice: User, hana: User, image: Image) -> None:
    host = FakeHost(hana, gpus=64)
    grant(alice, 7 * 3_600_000 + 3_599_999)
    results = Counter(map(outcome, in_parallel(rents(alice, quotes(alice, host, AT_ONCE)))))
    assert results == {"rented": 7, "insufficient_funds": AT_ONCE - 7}
    assert len(live_leases()) == Instance.objects.count() == 7
    assert wallet(alice).held_micros == 7 * 3_600_000
    assert Offer.objects.get(pk=host.offer.pk).gpu_free == 57
    assert_sound()


# -- one quote, one key


def test_one_quote_is_one_order(rich: User, hana: User, image: Image) -> None:
    host = FakeHost(hana, gpus=8)
    (quote,) = quotes(rich, host, 1)
    results = Counter(map(outcome, in_parallel(rents(rich, [quote] * AT_ONCE))))
    assert results == {"rented": 1, "quote_used": AT_ONCE - 1}
    assert Instance.objects.count() == 1


def test_fault_001_one_key_is_one_instance_one_hold_one_reply(rich: User, hana: User, image: Image) -> None:
    host = FakeHost(hana, gpus=8)
    (quote,) = quotes(rich, host, 1)

    def ask() -> object:
        def work() -> tuple[int, Any]:
            return 201, {"id": public_id("inst", rent_instance(renter=rich, quote_id=quote.pk).pk)}

        return run_once(user=rich, key="one", request_hash="h", work=work)

    replies = in_parallel([ask] * 50)
    assert len({repr(reply) for reply in replies}) == 1, replies
    assert Instance.objects.count() == Hold.objects.count() == len(live_leases()) == 1
    assert replies[0] == (201, {"id": public_id("inst", Instance.objects.get().pk)})
    assert RememberedReply.objects.count() == 1


def test_fault_001_without_the_key_every_call_rents(rich: User, hana: User, image: Image) -> None:
    """The paired test: it is the key that makes one of many."""
    host = FakeHost(hana, gpus=8)

    def ask(quote: Quote) -> object:
        def work() -> tuple[int, Any]:
            return 201, rent_instance(renter=rich, quote_id=quote.pk).name

        return run_once(user=rich, key=None, request_hash="h", work=work)

    works: list[Callable[[], object]] = [partial(ask, quote) for quote in quotes(rich, host, 8)]
    in_parallel(works)
    assert Instance.objects.count() == 8
