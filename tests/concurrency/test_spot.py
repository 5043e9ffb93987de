"""Races of the spot market, each paired with its wall taken down: ticks, orders, the renter's stop, changed bids."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from accounts.models import User
from common import transitions
from common.db.prepared import update
from common.db.transactions import use_case
from instances.enforcement.sweeps import compare_leases
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, SpotBid
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from instances.spot.bid_changes import change_bid
from instances.spot.market_tick import tick_offer
from instances.spot.preemption import give_notice, preempt
from instances.states import BidState
from marketplace.hosts.offers import check_offers
from marketplace.models import Claim, Lease, Offer
from storage.models import Image
from tests.billing.money import UNIT, assert_sound, grant, in_parallel, make_user
from tests.concurrency.test_rent import outcome
from tests.instances.fake_host import FakeHost, reload
from tests.instances.spot.bidders import bid, events, turn, with_spot
from tests.lock_waits import take_locks_down

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 5


@pytest.fixture
def spot(hana: User, image: Image) -> FakeHost:
    return with_spot(FakeHost(hana, gpus=4))


def noticed(instance: Instance) -> SpotBid:
    found = SpotBid.objects.select_related("instance").get(pk=instance.pk)
    with use_case():
        give_notice(found, found.held_since or found.placed_at)
    return found


def assert_whole(host: FakeHost) -> None:
    assert check_offers(repair=False) == []
    assert compare_leases() == 0
    assert_sound()
    live = list(Lease.objects.filter(released_at=None, offer=host.offer).values_list("gpu_id", flat=True))
    assert len(live) == len(set(live))


def orders(host: FakeHost, count: int) -> list[Callable[[], object]]:
    """Each of a renter of its own: one wallet would let them pass one after the other."""
    renters = [make_user(f"renter-{number}-{User.objects.count()}") for number in range(count)]
    for renter in renters:
        grant(renter, 100 * UNIT)
    quotes = [create_quote(renter=renter, offer_id=host.offer.pk, image="berth-base", gpu_count=1) for renter in renters]
    return [partial(rent_instance, renter=quote.renter, quote_id=quote.pk) for quote in quotes]


# -- one stop, one reason (fault 67)


def test_fault_067_a_preemption_and_the_renters_stop_are_one_stop(rich: User, spot: FakeHost) -> None:
    firsts: Counter[str] = Counter()
    for _ in range(ROUNDS):
        mine = bid(rich, spot, 1.00)
        found = noticed(mine)
        in_parallel([partial(preempt, found), partial(stop_instance, renter=rich, instance_id=mine.pk)])
        reasons = [kind for kind in events(mine) if kind in ("preempted", "stop_asked")]
        assert len(reasons) == 1
        firsts.update(reasons)
        turn(spot)
        state = reload(mine).state
        assert state == ("stopped" if reasons == ["stop_asked"] else "waiting")
        if state == "waiting":
            stop_instance(renter=rich, instance_id=mine.pk)
    assert sum(firsts.values()) == ROUNDS
    assert_whole(spot)


def test_fault_067_without_compare_and_swap_there_are_two(
    rich: User, spot: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(model: Any, *, where: dict[str, object], stale: str, **fields: object) -> None:
        """Whoever writes last has the say."""
        [key] = [name for name in where if name not in ("state", "generation")]
        update(model, where={key: where[key]}, stale=stale, **fields)

    mine = bid(rich, spot, 1.00)
    noticed(mine)
    # Two looks at it as it is before the stop.
    one, other = (SpotBid.objects.select_related("instance").get(pk=mine.pk) for _ in range(2))
    stop_instance(renter=rich, instance_id=mine.pk)
    assert preempt(one) is False
    assert "preempted" not in events(mine)
    monkeypatch.setattr(transitions, "update", careless)
    assert preempt(other) is True
    assert [kind for kind in events(mine) if kind in ("preempted", "stop_asked")] == ["stop_asked", "preempted"]


# -- what spot rents hold is promised once


def test_orders_at_once_are_promised_no_more_than_spot_rents_hold(bob: User, spot: FakeHost) -> None:
    grant(bob, 1_000 * UNIT)
    held = [bid(bob, spot, 1.00, gpus=2), bid(bob, spot, 2.00, gpus=1)]  # three; one is free
    results = Counter(map(outcome, in_parallel([*orders(spot, 12), partial(tick_offer, offer_id=spot.offer.pk)])))
    assert results["rented"] == 4
    assert results["gpu_taken"] == 8
    assert sum(Claim.objects.values_list("gpu_count", flat=True)) == 3
    assert_whole(spot)
    SpotBid.objects.update(yields_at=reload(held[0]).created_at, notice_at=reload(held[0]).created_at, state=BidState.NOTICE)
    turn(spot)
    mine = Lease.objects.filter(released_at=None, spot=False, offer=spot.offer)
    assert mine.count() == 4
    assert not Claim.objects.exists()
    assert_whole(spot)


def test_orders_at_once_without_locks_are_promised_too_much(
    bob: User, spot: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant(bob, 1_000 * UNIT)
    bid(bob, spot, 1.00, gpus=4)
    works = orders(spot, 12)
    take_locks_down(monkeypatch)
    promised = 0
    for _ in range(ROUNDS):
        in_parallel(works)
        promised = max(promised, sum(Claim.objects.values_list("gpu_count", flat=True)))
        if promised > 4:
            break
        Claim.objects.all().delete()
        Offer.objects.update(gpu_spot=4)
        works = orders(spot, 12)
    assert promised > 4


# -- ticks at once


def test_ticks_at_once_give_each_gpu_once(rich: User, spot: FakeHost) -> None:
    waiting = [bid(rich, spot, 1.00 + number / 10, tick=False) for number in range(6)]
    results = in_parallel([partial(tick_offer, offer_id=spot.offer.pk) for _ in range(6)])
    assert results == [None] * 6
    states = [SpotBid.objects.get(pk=each.pk).state for each in waiting]
    assert states == ["waiting"] * 2 + ["holding"] * 4
    assert Lease.objects.filter(released_at=None).count() == 4
    assert [events(each).count("bid_won") for each in waiting] == [0, 0, 1, 1, 1, 1]
    turn(spot)
    assert_whole(spot)


def test_bids_changed_while_ticks_run_end_at_what_was_asked_last(rich: User, spot: FakeHost) -> None:
    mine = [bid(rich, spot, 1.00, gpus=1) for _ in range(5)]
    works: list[Callable[[], object]] = [partial(tick_offer, offer_id=spot.offer.pk) for _ in range(4)]
    works += [
        partial(change_bid, renter=rich, instance_id=each.pk, max_price_micros=(6 - number) * UNIT)
        for number, each in enumerate(mine)
    ]
    for result in in_parallel(works):
        assert result is None or isinstance(result, Instance)
    turn(spot)
    rows = [SpotBid.objects.get(pk=each.pk) for each in mine]
    assert [row.max_price_micros for row in rows] == [(6 - number) * UNIT for number in range(5)]
    paid = {row.price_micros for row in rows if row.state == BidState.HOLDING}
    assert paid == {2 * UNIT}
    assert {reload(each).rate_micros_per_hour for each in mine if reload(each).state == "running"} == paid
    assert_whole(spot)
