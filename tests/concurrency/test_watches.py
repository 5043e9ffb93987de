"""The wait list under a crowd: order kept, each served at most once, money never in two places. Walls up and down."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from threading import Barrier, BrokenBarrierError, Event, Thread
from typing import Any
from unittest.mock import patch

import pytest
from django.db.models import F

from accounts.models import OutgoingMail, User
from billing.metering.holds import hold_funds, release_hold
from billing.models import Hold, Wallet
from common import clock
from common.db.transactions import use_case
from common.errors import DomainError
from common.ids import new_uuid
from instances.constants import WATCH_LONGEST, WATCHES_AT_MOST
from instances.enforcement.sweeps import compare_leases, compare_watch_holds
from instances.models import Instance, Watch
from instances.orders.quotes import create_quote
from instances.release.services import release_instance
from instances.wait_list import wait_list as service
from instances.wait_list.entries import EntryOrder
from instances.wait_list.mail import queue_watch_mails
from instances.wait_list.wait_list import cancel_entry, create_entry, expire_entries, serve_entries
from marketplace.hosts.offers import check_offers
from marketplace.models import Lease
from storage.models import Image
from tests.billing.money import UNIT, assert_sound, grant, in_parallel, make_user
from tests.instances.fake_host import FakeHost, order_running
from tests.lock_waits import wait_until_one_waits_for_us
from tests.mails import sent

pytestmark = pytest.mark.django_db(transaction=True)

WAITERS = 100
FREED = 10
WORKERS = 8
PRICE = 3_600_000
MOST = 4 * UNIT


def crowd(count: int, funds: int = MOST) -> list[Watch]:
    """So many renters, each with just enough money, in the list one after the other."""
    found = []
    for _ in range(count):
        user = make_user("waiter")
        grant(user, funds)
        found.append(wait(user))
    return found


def wait(user: User) -> Watch:
    order = EntryOrder(image="berth-base", max_price_micros=MOST)
    return create_entry(user=user, line="gpu=rtx-4090", action="rent", order=order)


def serve() -> int:
    return serve_entries(now=clock.now())


def held() -> Counter[int]:
    return Counter(Wallet.objects.filter(kind="renter").values_list("held_micros", flat=True))


def assert_nothing_sold_twice() -> None:
    live = list(Lease.objects.filter(released_at=None).values_list("gpu_id", flat=True))
    assert len(live) == len(set(live))
    assert check_offers(repair=False) == []
    assert compare_watch_holds() == 0
    assert compare_leases() == 0
    assert_sound()


# -- a hundred wait, ten come free


def test_of_a_hundred_the_first_ten_get_the_ten_that_come_free(rich: User, hana: User, image: Image) -> None:
    """GPUs come free one after the other while eight workers walk the list again and again."""
    host = FakeHost(hana, gpus=FREED)
    running = [order_running(rich, host) for _ in range(FREED)]
    waiting = crowd(WAITERS)
    assert serve() == 0
    done = Event()

    def release_all() -> int:
        try:
            for instance in running:
                release_instance(renter=rich, instance_id=instance.pk)
                host.settle()
        finally:
            done.set()
        return 0

    def walk() -> int:
        served = 0
        while not done.is_set():
            served += serve()
        return served

    results = in_parallel([release_all, *[walk] * WORKERS])
    assert all(isinstance(result, int) for result in results), results
    served = sum(result for result in results if isinstance(result, int)) + sum(serve() for _ in range(3))

    assert served == FREED
    states = list(Watch.objects.order_by("place").values_list("state", flat=True))
    assert states == ["rented"] * FREED + ["waiting"] * (WAITERS - FREED)
    orders = (
        Watch.objects.filter(state="rented").order_by("place").values_list("instance_id", "user_id", "instance__renter_id")
    )
    assert len({instance for instance, _, _ in orders}) == FREED
    assert all(user == renter for _, user, renter in orders)
    assert Instance.objects.filter(renter__email__startswith="waiter").count() == FREED
    began = Watch.objects.filter(state="rented").order_by("instance__created_at").values_list("place", flat=True)
    assert list(began) == [watch.place for watch in waiting[:FREED]]
    host.sync()
    assert_nothing_sold_twice()
    assert held() == {0: 1, PRICE: FREED, MOST: WAITERS - FREED}  # the 0 is the former renter's

    half = FREED + (WAITERS - FREED) // 2
    for watch in waiting[FREED:half]:
        cancel_entry(user=watch.user, watch_id=watch.pk)
    Watch.objects.filter(state="waiting").update(expires_at=clock.now())
    assert expire_entries(now=clock.now()) == WAITERS - half
    assert held() == {0: 1 + WAITERS - FREED, PRICE: FREED}
    assert not Hold.objects.filter(source_kind="watch", released_at=None).exists()
    assert compare_watch_holds() == 0
    assert_sound()


# -- one place, many workers


@contextmanager
def pass_lock_down() -> Iterator[None]:
    """Everyone believes to walk alone, and two have chosen the same place before one of them orders."""
    both = Barrier(2)

    @contextmanager
    def alone(_lock: int) -> Iterator[bool]:
        yield True

    def look_together(*_: object) -> bool:
        with suppress(BrokenBarrierError):
            both.wait(timeout=10)
        return False

    with (
        patch.object(service, "exclusive_lock", alone),
        patch.object(service._Pass, "_fits_an_earlier_place", look_together),
    ):
        yield


@contextmanager
def swap_down() -> Iterator[None]:
    """The state is written without comparing it with what it was."""

    def write(row: Any, target: str, *, machine: object, reason: str, actor: str, **fields: Any) -> None:
        Watch.objects.filter(pk=row.pk).update(**{"state": target, "generation": F("generation") + 1}, **fields)

    with patch.object(service, "move", write):
        yield


def one_place_two_workers(hana: User) -> int:
    """How many instances one place has got. There are two GPUs, and money for two."""
    FakeHost(hana, gpus=2)
    crowd(1, funds=3 * MOST)
    results = in_parallel([serve, serve])
    assert all(isinstance(result, int) for result in results), results
    return Instance.objects.count()


def test_one_place_is_one_instance(hana: User, image: Image) -> None:
    assert one_place_two_workers(hana) == 1
    assert_nothing_sold_twice()


def test_without_the_pass_lock_the_swap_still_stands(hana: User, image: Image) -> None:
    with pass_lock_down():
        assert one_place_two_workers(hana) == 1
    assert held() == {PRICE: 1}
    assert_nothing_sold_twice()


def test_without_the_swap_the_pass_lock_still_stands(hana: User, image: Image) -> None:
    with swap_down():
        assert one_place_two_workers(hana) == 1
    assert held() == {PRICE: 1}


def test_with_both_walls_down_one_place_rents_twice(hana: User, image: Image) -> None:
    with pass_lock_down(), swap_down():
        assert one_place_two_workers(hana) == 2
    assert held() == {2 * PRICE: 1}


def test_many_workers_and_repeated_passes_serve_each_once(hana: User, image: Image) -> None:
    FakeHost(hana, gpus=20)
    waiting = crowd(20)
    served = sum(result for result in in_parallel([serve] * WORKERS) if isinstance(result, int)) + serve()
    assert served == 20
    assert Instance.objects.count() == 20
    assert set(Watch.objects.values_list("state", flat=True)) == {"rented"}
    assert held() == {PRICE: len(waiting)}
    assert_nothing_sold_twice()


# -- the place and other wishes for the same money


def outcome(result: object) -> str:
    if isinstance(result, DomainError):
        return result.code
    return str(result) if isinstance(result, int) else getattr(result, "state", repr(result))


def test_cancel_and_order_at_once_are_one_of_both(hana: User, image: Image) -> None:
    host = FakeHost(hana, gpus=12)
    seen = Counter[str]()
    for _ in range(12):
        [watch] = crowd(1)
        cancel = partial(cancel_entry, user=watch.user, watch_id=watch.pk)
        cancelled, _served = in_parallel([cancel, serve])
        state = Watch.objects.get(pk=watch.pk).state
        seen[state] += 1
        assert outcome(cancelled) == ("cancelled" if state == "cancelled" else "unlawful_action")
        wallet = Wallet.objects.get(owner=watch.user)
        assert wallet.held_micros == (PRICE if state == "rented" else 0)
        assert Instance.objects.filter(renter=watch.user).count() == (state == "rented")
    assert set(seen) <= {"cancelled", "rented"}
    host.sync()
    assert_nothing_sold_twice()


@contextmanager
def a_rival_between(user: User, meanwhile: Callable[[], None], passed: Event | None = None) -> Iterator[list[object]]:
    """When the place has let go of its money and the order has not taken it yet, another wants to hold it."""
    quote, results = create_quote, list[object]()

    def spend() -> None:
        results.extend(in_parallel([partial(_hold, user)]))
        if passed is not None:
            passed.set()

    def slowly(**wishes: Any) -> Any:
        rival = Thread(target=spend)
        rival.start()
        rivals.append(rival)
        meanwhile()
        return quote(**wishes)

    rivals: list[Thread] = []
    with patch.object(service, "create_quote", slowly):
        yield results
        for rival in rivals:
            rival.join(timeout=30)


def wait_for_it(passed: Event) -> None:
    assert passed.wait(30)


def _hold(user: User) -> int:
    with use_case():
        hold_funds(owner_id=user.pk, amount_micros=PRICE, source_kind="test", source_id=new_uuid())
    return 1


def test_nobody_else_spends_the_money_between_the_two_holds(hana: User, image: Image) -> None:
    FakeHost(hana, gpus=1)
    [watch] = crowd(1)
    with a_rival_between(watch.user, wait_until_one_waits_for_us) as results:
        assert serve() == 1
    assert list(map(outcome, results)) == ["insufficient_funds"]
    assert held() == {PRICE: 1}
    assert_nothing_sold_twice()


def test_in_two_transactions_another_would_spend_it(hana: User, image: Image) -> None:
    """The paired test: it is the one transaction that keeps the money together."""
    FakeHost(hana, gpus=1)
    [watch] = crowd(1)

    def release_alone(**source: Any) -> None:
        with use_case():
            release_hold(**source)

    passed = Event()
    with (
        patch.object(service, "joining", nullcontext),
        patch.object(service, "release_hold", release_alone),
        a_rival_between(watch.user, lambda: wait_for_it(passed), passed),
    ):
        assert serve() == 0
    assert not Instance.objects.exists()
    assert Hold.objects.get(released_at=None).source_kind == "test"
    assert compare_watch_holds() == 1


def test_places_taken_at_once_stay_within_the_limit(rich: User, image: Image) -> None:
    works: list[Callable[[], object]] = [partial(create_entry, user=rich, line="", lifetime=WATCH_LONGEST)] * 30
    results = Counter("made" if isinstance(result, Watch) else outcome(result) for result in in_parallel(works))
    assert results == {"made": WATCHES_AT_MOST, "too_many": 30 - WATCHES_AT_MOST}


def test_many_workers_queue_and_send_each_mail_once(hana: User, image: Image) -> None:
    FakeHost(hana, gpus=20)
    crowd(20)
    serve()
    queued = in_parallel([partial(queue_watch_mails, now=clock.now())] * WORKERS)
    assert all(isinstance(count, int) for count in queued), queued
    assert sum(count for count in queued if isinstance(count, int)) == OutgoingMail.objects.count() == 20
    assert len({message.to[0] for message in sent()}) == 20
