"""A stopped instance whose GPUs are taken: its place in line before the public, the money behind it, and how it ends."""

import pytest

from accounts.models import User
from billing.errors import InsufficientFunds
from common import clock
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from instances.release.services import release_instance
from instances.schedules.timers import end_long_waits
from instances.spot.market_tick import tick_offer
from marketplace.errors import GpuTaken
from marketplace.spot_market.selectors import queue_positions
from tests.billing.money import UNIT, grant, wallet
from tests.instances.fake_host import FakeHost, order, order_running, refused, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import assert_all_well, held


@pytest.fixture
def bo(hours: Clock, bob: User) -> User:
    grant(bob, 1_000 * UNIT)
    return bob


def stopped(renter: User, host: FakeHost, *, gpu_count: int = 1) -> Instance:
    instance = order_running(renter, host, gpu_count=gpu_count)
    stop_instance(renter=renter, instance_id=instance.pk)
    host.settle()
    return reload(instance)


def wait(renter: User, instance: Instance) -> Instance:
    return start_instance(renter=renter, instance_id=instance.pk, wait=True)


def place(instance: Instance) -> tuple[int, int]:
    found = queue_positions([instance.pk])[instance.pk]
    return found.number, found.of


def free(host: FakeHost) -> int:
    host.offer.refresh_from_db()
    return host.offer.gpu_free


def stop(renter: User, host: FakeHost, instance: Instance) -> None:
    stop_instance(renter=renter, instance_id=instance.pk)
    host.settle()


def test_it_returns_before_the_public_in_the_order_in_which_they_came(
    rin: User, bo: User, host: FakeHost, hours: Clock
) -> None:
    first, second = stopped(rin, host), stopped(rin, host)
    others = [order_running(bo, host, gpu_count=2), order_running(bo, host, gpu_count=2)]
    with refused(), pytest.raises(GpuTaken, match="wait=true"):
        start_instance(renter=rin, instance_id=first.pk)
    assert wait(rin, first).state == "waiting"
    hours.advance(seconds=1)
    assert wait(rin, second).state == "waiting"
    assert (place(first), place(second)) == ((1, 2), (2, 2))
    assert held(rin) == 2 * host.offer.price_micros
    stop(bo, host, others[0])
    assert free(host) == 0, "both GPUs are for the line before anybody has looked"
    with refused(), pytest.raises(GpuTaken):
        order(bo, host)
    tick_offer(offer_id=host.offer.pk)
    assert [reload(each).state for each in (first, second)] == ["starting", "starting"]
    host.settle()
    assert [reload(each).state for each in (first, second)] == ["running", "running"]
    assert_all_well()


def test_one_that_needs_more_than_there_is_keeps_nothing_back(rin: User, bo: User, host: FakeHost, hours: Clock) -> None:
    large, small = stopped(rin, host, gpu_count=4), stopped(rin, host)
    three, one = order_running(bo, host, gpu_count=3), order_running(bo, host)
    wait(rin, large)
    hours.advance(seconds=1)
    wait(rin, small)
    assert place(small) == (2, 2)
    stop(bo, host, three)
    assert free(host) == 2, "one of three is for the small one; the large one needs four"
    tick_offer(offer_id=host.offer.pk)
    assert (reload(small).state, reload(large).state) == ("starting", "waiting")
    host.settle()
    stop(bo, host, one)
    assert free(host) == 3
    stop(rin, host, reload(small))
    assert free(host) == 0, "now all four are for it"
    tick_offer(offer_id=host.offer.pk)
    assert reload(large).state == "starting"
    assert_all_well()


def test_who_leaves_the_line_has_the_money_and_the_rest_of_the_time(
    rin: User, bo: User, host: FakeHost, hours: Clock
) -> None:
    mine = stopped(rin, host)
    order_running(bo, host, gpu_count=4)
    hours.advance(days=20)
    wait(rin, mine)
    assert (reload(mine).release_at, held(rin)) == (None, host.offer.price_micros)
    hours.advance(days=5)
    stop_instance(renter=rin, instance_id=mine.pk)
    left = reload(mine)
    assert (left.state, held(rin)) == ("stopped", 0)
    assert left.release_at is not None
    assert (left.release_at - clock.now()).days == 10, "the countdown stood still while it waited"
    assert not queue_positions([mine.pk])
    assert_all_well()


def test_a_place_is_given_up_after_a_week_and_ends_with_a_release(rin: User, bo: User, host: FakeHost, hours: Clock) -> None:
    mine, other = stopped(rin, host), stopped(rin, host)
    order_running(bo, host, gpu_count=4)
    wait(rin, mine)
    hours.advance(days=6)
    wait(rin, other)
    assert end_long_waits(now=clock.now()) == 0
    hours.advance(days=1)
    assert end_long_waits(now=clock.now()) == 1
    assert (reload(mine).state, place(other)) == ("stopped", (1, 1))
    release_instance(renter=rin, instance_id=other.pk)
    host.settle()
    assert (reload(other).state, held(rin)) == ("gone", 0)
    assert_all_well()


def test_without_the_money_there_is_no_place(rin: User, bo: User, host: FakeHost) -> None:
    mine = stopped(rin, host)
    order_running(bo, host, gpu_count=4)
    spare = wallet(rin).spendable_micros - UNIT
    quote = create_quote(renter=rin, offer_id=FakeHost(host.owner, price=f"{spare / UNIT:.2f}").offer.pk, image="berth-base")
    rent_instance(renter=rin, quote_id=quote.pk, name="dear")
    with refused(), pytest.raises(InsufficientFunds):
        wait(rin, mine)
    assert (reload(mine).state, queue_positions([mine.pk])) == ("stopped", {})
