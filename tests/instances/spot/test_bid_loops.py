"""Renters whose programs outbid each other without end: prices keep their bounds, and nobody's rent flaps."""

import random
from datetime import datetime, timedelta

import pytest

from accounts.models import User
from common import clock
from instances.constants import SPOT_NOTICE, SPOT_RUN_AT_LEAST
from instances.models import Instance, InstanceEvent
from instances.spot.bid_changes import change_bid
from marketplace.models import SpotPrice
from tests.billing.money import UNIT
from tests.instances.fake_host import FakeHost, reload
from tests.instances.fixtures import Clock
from tests.instances.spot.bidders import FLOOR, bid, bid_of, turn

pytestmark = pytest.mark.usefixtures("sound")

MINUTES = 40
HIGHEST = 40 * UNIT


def moments(instance: Instance, kind: str) -> list[datetime]:
    return list(InstanceEvent.objects.filter(instance=instance, kind=kind).order_by("id").values_list("at", flat=True))


def outbid(mine: Instance, rival: Instance, chance: random.Random) -> None:
    """A program's answer: a little above the rival, or a spike far above, or, once there, back to the bottom."""
    other = bid_of(rival).max_price_micros
    wanted = chance.choice([other + 10_000, 2 * other, 10 * other, FLOOR + 10_000])
    change_bid(renter=mine.renter, instance_id=mine.pk, max_price_micros=min(wanted, HIGHEST))


@pytest.mark.parametrize("seed", [1, 2])
def test_fault_068_bid_loops_move_no_rent_faster_than_the_rules(
    spot: FakeHost, rin: User, bo: User, hours: Clock, seed: int
) -> None:
    """Both want all four GPUs and change their bids at every tick; what a tick may do is bounded all the same."""
    chance = random.Random(seed)
    pair = bid(rin, spot, 1.00, gpus=4), bid(bo, spot, 1.01, gpus=4)
    begun = clock.now()
    for _ in range(MINUTES):
        hours.advance(seconds=60)
        spot.sync()
        for mine, rival in (pair, pair[::-1]):
            outbid(reload(mine), rival, chance)
        turn(spot)
        highest = max(bid_of(each).max_price_micros for each in pair)
        newest = SpotPrice.objects.filter(offer=spot.offer).order_by("-at", "-id")[0]
        assert FLOOR <= newest.price_micros <= highest
        for each in pair:
            found = bid_of(each)
            assert found.price_micros is None or found.price_micros <= found.max_price_micros, "never more than its own"
        assert sum(reload(each).state == "running" for each in pair) <= 1
    least = SPOT_RUN_AT_LEAST + SPOT_NOTICE
    preempted = [(each, at) for each in pair for at in moments(each, "preempted")]
    assert preempted, "somebody was outbid at all"
    assert len(preempted) <= timedelta(minutes=MINUTES) / least
    for each in pair:
        for at in moments(each, "preempted"):
            runs = [start for start in [begun, *moments(each, "running")] if start <= at]
            assert at - runs[-1] >= least, "nobody is outbid before the time that is promised"
            notices = [at_notice for at_notice in moments(each, "preempt_notice") if at_notice <= at]
            assert at - notices[-1] >= SPOT_NOTICE


def test_fault_068_a_spike_costs_others_no_more_than_they_bid(spot: FakeHost, rin: User, bo: User, hours: Clock) -> None:
    cheap = bid(rin, spot, 0.80, gpus=2)
    bid(bo, spot, 40.00, gpus=4)
    for _ in range(3):
        hours.advance(seconds=60)
        spot.sync()
        turn(spot)
        assert (bid_of(cheap).price_micros or 0) <= 800_000
    assert reload(cheap).rate_micros_per_hour <= 2 * 800_000
