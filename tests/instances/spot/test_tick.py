"""The spot market through the services: winners, one price, notice, preemption, resumption, and everything around them."""

import pytest

from accounts.constants import MAIL_CLAIM
from accounts.models import User
from billing.errors import InsufficientFunds
from billing.metering.settle import extend_holds, settle_meters
from billing.models import Meter
from common import clock
from common.errors import IllegalTransition, InvalidInput, NotFound
from instances.constants import SPOT_NOTICE
from instances.core.selectors import desired_instances
from instances.enforcement.budgets import set_budget
from instances.enforcement.sweeps import stop_exhausted
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.release.services import release_instance
from instances.spot.bid_changes import change_bid, withdraw_bid
from instances.spot.mail import queue_notice_mails
from instances.spot.market_tick import tick_all, tick_due, tick_offer
from marketplace.errors import GpuTaken
from marketplace.hosts.offers import ListingChange, set_draining, set_listed, set_prices
from marketplace.leasing.availability import refresh_offers_of_host
from marketplace.models import Host, Lease, SpotPrice
from marketplace.states import HostState
from tests.billing.money import UNIT, charged, grant, wallet
from tests.instances.fake_host import FakeHost, order, refused, reload
from tests.instances.fixtures import Clock
from tests.instances.spot.bidders import bid, bid_of, events, free_and_spot, offer_of, seen, turn
from tests.mails import killed_at, sent

pytestmark = pytest.mark.usefixtures("sound")


def run(hours: Clock, host: FakeHost, minutes: float) -> None:
    """Time passes with reports every half minute, so that use is proven."""
    for _ in range(round(minutes * 2)):
        hours.advance(seconds=30)
        host.sync()


def test_a_bid_on_free_gpus_runs_at_the_floor(spot: FakeHost, rin: User) -> None:
    instance = bid(rin, spot, 2.00, gpus=2, tick=False)
    assert seen(instance) == ("waiting", "waiting", None)
    assert free_and_spot(spot) == (4, 0)
    turn(spot)
    assert seen(instance) == ("running", "holding", 500_000)
    assert free_and_spot(spot) == (2, 2)
    assert reload(instance).rate_micros_per_hour == 1_000_000
    assert {lease.price_micros for lease in Lease.objects.filter(holder=instance.pk, spot=True)} == {500_000}
    assert offer_of(spot).spot_now_micros is None
    # An hour at its maximum is held, whatever it pays.
    assert wallet(rin).held_micros == 4 * UNIT


def test_everyone_pays_the_highest_losing_bid_and_never_more_than_their_own(spot: FakeHost, rin: User, bo: User) -> None:
    one, two = bid(rin, spot, 3.00, gpus=2), bid(bo, spot, 2.00, gpus=2)
    assert [seen(each)[2] for each in (one, two)] == [500_000, 500_000]
    loser = bid(rin, spot, 1.25)
    assert seen(loser) == ("waiting", "waiting", None)
    assert [seen(each) for each in (one, two)] == [("running", "holding", 1_250_000)] * 2
    assert offer_of(spot).spot_now_micros == 1_250_000
    rates = Meter.objects.filter(closed_at=None).order_by("opened_at")
    assert [meter.tariff.rate_at(10**15) for meter in rates] == [2_500_000, 2_500_000]
    stop_instance(renter=rin, instance_id=loser.pk)
    turn(spot)
    assert seen(loser) == ("stopped", "ended", None)
    assert [seen(each)[2] for each in (one, two)] == [500_000, 500_000]
    prices = list(SpotPrice.objects.order_by("id").values_list("price_micros", "supply", "demand"))
    assert prices == [(500_000, 4, 2), (1_250_000, 4, 5), (500_000, 4, 4)]


def test_a_change_of_price_touches_no_container_and_splits_the_bill(
    spot: FakeHost, rin: User, bo: User, hours: Clock
) -> None:
    instance = bid(rin, spot, 3.00, gpus=4)
    before = reload(instance)
    desired = desired_instances(spot.host.pk)
    run(hours, spot, 20)
    bid(bo, spot, 1.50, gpus=1)
    run(hours, spot, 40)
    after = reload(instance)
    assert (after.run_generation, after.fence, after.state) == (before.run_generation, before.fence, "running")
    assert [row for row in desired_instances(spot.host.pk) if row.id == instance.pk] == desired
    settle_meters(now=clock.now())
    # 20 min × 4 × 0.50 + 40 min × 4 × 1.50 = 0.666667 + 4.00
    assert charged(instance.pk) == 4_666_667


def test_notice_then_preemption_then_resumption_with_the_data_disk_kept(
    spot: FakeHost, rin: User, bo: User, hours: Clock
) -> None:
    loser = bid(rin, spot, 1.00, gpus=4)
    run(hours, spot, 3)
    winner = bid(bo, spot, 2.00, gpus=4)
    assert seen(loser) == ("running", "holding", 1_000_000)  # protected, and pays its own maximum at most
    run(hours, spot, 7)
    tick_offer(offer_id=spot.offer.pk)
    noticed = bid_of(loser)
    assert seen(loser) == ("running", "notice", 500_000)  # whoever outbids it has not taken its GPUs yet
    assert noticed.notice_at == clock.now()
    assert noticed.yields_at == clock.now() + SPOT_NOTICE
    [desired] = [row for row in desired_instances(spot.host.pk) if row.id == loser.pk]
    assert desired.preempt_at == int(noticed.yields_at.timestamp())
    assert desired.run == "running"

    run(hours, spot, 1.5)
    tick_all()
    assert seen(loser)[:2] == ("running", "notice")  # 90 s are no 120
    run(hours, spot, 0.5)
    assert tick_due(now=clock.now()) == 1
    assert seen(loser)[:2] == ("stopping", "yielding")
    turn(spot)
    assert seen(winner)[:2] == ("running", "holding")
    assert seen(loser) == ("waiting", "waiting", None)
    assert events(loser)[-4:] == ["preempt_notice", "preempted", "stopped", "waits_for_gpus"]
    [kept] = [row for row in desired_instances(spot.host.pk) if row.id == loser.pk]
    assert (kept.run, kept.gpu_uuids, kept.preempt_at) == ("stopped", [], None)  # its container and disk stay

    before = reload(loser)
    release_instance(renter=bo, instance_id=winner.pk)
    spot.settle()
    turn(spot)
    assert seen(loser)[0] == "waiting"  # it rests
    assert free_and_spot(spot) == (4, 0)
    hours.advance(minutes=5)
    turn(spot)
    assert seen(loser) == ("running", "holding", 500_000)
    after = reload(loser)
    assert after.host_id == before.host_id
    assert (after.run_generation, after.fence) == (before.run_generation + 1, before.fence + 1)
    assert set(after.gpu_uuids) == set(before.gpu_uuids)


def test_a_raised_bid_takes_a_notice_back(spot: FakeHost, rin: User, bo: User, hours: Clock) -> None:
    loser = bid(rin, spot, 1.00, gpus=4)
    run(hours, spot, 10)
    bid(bo, spot, 2.00, gpus=4)
    assert seen(loser)[1] == "notice"
    change_bid(renter=rin, instance_id=loser.pk, max_price_micros=2_500_000)
    tick_offer(offer_id=spot.offer.pk)
    assert seen(loser) == ("running", "holding", 2_000_000)
    assert [row.preempt_at for row in desired_instances(spot.host.pk) if row.id == loser.pk] == [None]
    assert events(loser)[-1] == "preempt_taken_back"


def test_hourly_orders_outrank_every_bid_and_wait_for_the_notice_alone(
    spot: FakeHost, rin: User, bo: User, hours: Clock
) -> None:
    low, high = bid(rin, spot, 1.00, gpus=2), bid(rin, spot, 3.00, gpus=2)
    assert free_and_spot(spot) == (0, 4)
    wanted = order(bo, spot, gpu_count=1)
    assert reload(wanted).state == "waiting"
    assert free_and_spot(spot) == (0, 3)
    turn(spot)
    assert seen(low)[:2] == ("running", "notice")  # its minimum run time has only begun
    assert seen(high)[:2] == ("running", "holding")
    bid(bo, spot, 9.00, gpus=1)  # no bid overtakes the order
    run(hours, spot, 2)
    turn(spot)
    assert reload(wanted).state == "running"
    assert Lease.objects.get(holder=wanted.pk, released_at=None).spot is False
    assert reload(wanted).rate_micros_per_hour == 3_600_000
    assert Lease.objects.filter(spot=True, released_at=None).count() == 3
    assert reload(wanted).gpu_uuids == [Lease.objects.get(holder=wanted.pk, released_at=None).gpu.uuid]


def test_what_an_order_waits_for_is_given_to_nobody_else(spot: FakeHost, rin: User, bo: User, hours: Clock) -> None:
    holder = bid(rin, spot, 1.00, gpus=3)
    wanted = order(bo, spot, gpu_count=2)  # one is free, another has to be made free
    assert reload(wanted).state == "waiting"
    assert free_and_spot(spot) == (0, 2)
    third = order(bo, spot, gpu_count=2)
    assert reload(third).state == "waiting"
    assert free_and_spot(spot) == (0, 0)
    with pytest.raises(GpuTaken), refused():
        order(bo, spot, gpu_count=1)
    late = bid(bo, spot, 5.00)
    assert seen(late)[0] == "waiting"
    run(hours, spot, 2)
    turn(spot)
    assert [reload(each).state for each in (wanted, third)] == ["running", "running"]
    assert {seen(each)[0] for each in (holder, late)} == {"waiting"}


def test_an_order_that_waits_can_be_cancelled_and_the_notice_goes(spot: FakeHost, rin: User, bo: User) -> None:
    holder = bid(rin, spot, 1.00, gpus=4)
    wanted = order(bo, spot, gpu_count=1)
    turn(spot)
    assert seen(holder)[1] == "notice"
    stop_instance(renter=bo, instance_id=wanted.pk)
    assert reload(wanted).state == "stopped"
    assert free_and_spot(spot) == (0, 4)
    assert wallet(bo).held_micros == 0
    turn(spot)
    assert seen(holder)[1] == "holding"
    other = order(bo, spot, gpu_count=1)
    release_instance(renter=bo, instance_id=other.pk)
    spot.settle()
    assert reload(other).state == "gone"
    assert free_and_spot(spot) == (0, 4)


def test_a_stopped_hourly_rent_waits_for_room_as_a_new_one(spot: FakeHost, rin: User, bo: User, hours: Clock) -> None:
    mine = order(bo, spot, gpu_count=2)
    spot.settle()
    stop_instance(renter=bo, instance_id=mine.pk)
    spot.settle()
    bid(rin, spot, 1.00, gpus=4)
    start_instance(renter=bo, instance_id=mine.pk)
    assert reload(mine).state == "waiting"
    turn(spot)
    run(hours, spot, 2)
    turn(spot)
    assert reload(mine).state == "running"


def test_the_renters_stop_comes_first_or_second_but_there_is_one(spot: FakeHost, rin: User, bo: User, hours: Clock) -> None:
    mine = bid(rin, spot, 1.00, gpus=4)
    run(hours, spot, 10)
    bid(bo, spot, 2.00, gpus=4)
    hours.advance(minutes=2)
    stop_instance(renter=rin, instance_id=mine.pk)
    turn(spot)
    assert events(mine).count("stop_asked") == 1
    assert "preempted" not in events(mine)
    assert seen(mine) == ("stopped", "ended", None)  # the renter's will: it does not go on by itself


def test_what_yielded_can_be_told_not_to_go_on(spot: FakeHost, rin: User, bo: User, hours: Clock) -> None:
    mine = bid(rin, spot, 1.00, gpus=4)
    run(hours, spot, 10)
    bid(bo, spot, 2.00, gpus=4)
    run(hours, spot, 2)
    tick_due(now=clock.now())
    assert seen(mine)[:2] == ("stopping", "yielding")
    withdraw_bid(renter=rin, instance_id=mine.pk)
    withdraw_bid(renter=rin, instance_id=mine.pk)
    turn(spot)
    assert seen(mine)[:2] == ("stopped", "ended")
    assert wallet(rin).held_micros == 0
    start_instance(renter=rin, instance_id=mine.pk)
    assert seen(mine)[:2] == ("waiting", "waiting")
    with pytest.raises(IllegalTransition), refused():
        withdraw_bid(renter=rin, instance_id=mine.pk)


def test_what_yielded_and_cannot_pay_for_another_hour_stays_stopped(
    spot: FakeHost, hours: Clock, bob: User, bo: User, alice: User
) -> None:
    grant(alice, 4 * UNIT)
    mine = bid(alice, spot, 1.00, gpus=4)
    run(hours, spot, 10)
    bid(bo, spot, 2.00, gpus=4)
    run(hours, spot, 2)
    turn(spot)
    assert seen(mine)[:2] == ("stopped", "ended")
    assert events(mine)[-1] == "bid_ended"
    assert reload(mine).release_at is not None


def test_what_yielded_and_is_kept_by_a_hard_budget_stays_stopped(spot: FakeHost, hours: Clock, rin: User, bo: User) -> None:
    mine = bid(rin, spot, 1.00, gpus=4)
    run(hours, spot, 10)
    set_budget(owner=rin, scope="member", subject_id=None, period="month", limit_micros=4 * UNIT, hard=True)
    bid(bo, spot, 2.00, gpus=4)
    run(hours, spot, 2)
    turn(spot)
    assert seen(mine)[:2] == ("stopped", "ended")
    assert events(mine)[-1] == "bid_ended"


def test_a_spot_rent_whose_money_ends_is_stopped_and_bids_no_more(
    spot: FakeHost, hours: Clock, alice: User, bo: User
) -> None:
    grant(alice, 2 * UNIT)
    mine = bid(alice, spot, 2.00)
    bid(bo, spot, 9.00, gpus=3)
    bid(bo, spot, 1.90)
    for _ in range(160):
        hours.advance(seconds=30)
        spot.sync()
        extend_holds(now=clock.now())
        settle_meters(now=clock.now())
        stop_exhausted(now=clock.now())
    turn(spot)
    assert seen(mine)[:2] == ("stopped", "ended")
    assert "funds_exhausted" in events(mine)
    assert 0 <= wallet(alice).balance_micros < 2 * UNIT


def test_a_silent_host_hears_no_notice_and_gets_a_whole_one_when_it_is_back(
    spot: FakeHost, rin: User, bo: User, hours: Clock
) -> None:
    mine = bid(rin, spot, 1.00, gpus=4)
    run(hours, spot, 10)
    bid(bo, spot, 2.00, gpus=4)
    assert seen(mine)[1] == "notice"
    Host.objects.filter(pk=spot.host.pk).update(state=HostState.SILENT)
    refresh_offers_of_host(host_id=spot.host.pk)
    hours.advance(minutes=5)
    tick_all()
    assert seen(mine)[:2] == ("running", "holding")
    assert "preempted" not in events(mine)
    spot.sync()  # it is back
    tick_all()
    assert bid_of(mine).notice_at == clock.now()
    assert seen(mine)[:2] == ("running", "notice")


@pytest.mark.parametrize("closed", ["unlisted", "draining"])
def test_an_offer_off_the_market_starts_nothing_and_ends_nothing(
    spot: FakeHost, rin: User, bo: User, hours: Clock, closed: str
) -> None:
    mine = bid(rin, spot, 1.00, gpus=2)
    waiting = bid(bo, spot, 2.00, gpus=4)
    run(hours, spot, 1)
    if closed == "unlisted":
        set_listed(actor_id=spot.owner.pk, offer_id=spot.offer.pk, listed=False)
    else:
        set_draining(actor_id=spot.owner.pk, host_id=spot.host.pk, draining=True)
    assert free_and_spot(spot) == (0, 0)
    run(hours, spot, 15)
    turn(spot)
    assert seen(mine) == ("running", "holding", 500_000)
    assert seen(waiting)[0] == "waiting"


def test_a_raised_floor_is_for_rents_that_begin_later_and_a_lowered_one_for_all(
    spot: FakeHost, rin: User, bo: User, hana: User
) -> None:
    """By raising it step by step a host would otherwise read off what its renters would pay at most, and charge that."""
    low, high = bid(rin, spot, 0.80), bid(bo, spot, 3.00)
    set_prices(actor_id=hana.pk, change=ListingChange(spot.offer.pk, spot_floor_micros=1_000_000))
    later = bid(bo, spot, 3.00)
    assert [seen(each)[2] for each in (low, high, later)] == [500_000, 500_000, 1_000_000]
    assert SpotPrice.objects.latest("id").price_micros == 1_000_000
    set_prices(actor_id=hana.pk, change=ListingChange(spot.offer.pk, spot_floor_micros=400_000))
    turn(spot)
    assert [seen(each)[2] for each in (low, high, later)] == [400_000] * 3
    set_prices(actor_id=hana.pk, change=ListingChange(spot.offer.pk, spot_floor_micros=0))
    turn(spot)
    assert [seen(each) for each in (low, high)] == [("running", "holding", 400_000)] * 2
    with pytest.raises(IllegalTransition), refused():
        change_bid(renter=bo, instance_id=high.pk, max_price_micros=9_000_000)


def test_everyone_is_written_to_once_about_a_notice_and_not_after_it_was_taken_back(
    spot: FakeHost, rin: User, bo: User, hours: Clock
) -> None:
    mine = bid(rin, spot, 1.00, gpus=4)
    run(hours, spot, 10)
    rival = bid(bo, spot, 2.00, gpus=4)
    assert seen(mine)[1] == "notice"
    assert [queue_notice_mails(now=clock.now()) for _ in range(2)] == [1, 0]
    [message] = sent()
    assert message.to == [rin.email]
    at = bid_of(mine).yields_at
    assert at is not None
    assert f"{at:%Y-%m-%d %H:%M:%S} UTC" in message.body
    stop_instance(renter=bo, instance_id=rival.pk)
    turn(spot)
    assert queue_notice_mails(now=clock.now()) == 0


def test_a_worker_that_dies_loses_no_mail_about_a_notice(spot: FakeHost, rin: User, bo: User, hours: Clock) -> None:
    mine = bid(rin, spot, 1.00, gpus=4)
    run(hours, spot, 10)
    bid(bo, spot, 2.00, gpus=4)
    with killed_at("instances.spot.mail.queue_mail"):
        queue_notice_mails(now=clock.now())
    assert queue_notice_mails(now=clock.now()) == 1
    with killed_at("common.mail.mail.EmailMessage.send"):
        sent()
    assert sent() == []
    hours.advance(seconds=MAIL_CLAIM.total_seconds())
    assert (seen(mine)[1], len(sent())) == ("notice", 1), "in time"


def test_a_notice_that_was_taken_back_is_not_sent_from_the_outbox(spot: FakeHost, rin: User, bo: User, hours: Clock) -> None:
    bid(rin, spot, 1.00, gpus=4)
    run(hours, spot, 10)
    rival = bid(bo, spot, 2.00, gpus=4)
    assert queue_notice_mails(now=clock.now()) == 1
    stop_instance(renter=bo, instance_id=rival.pk)
    turn(spot)
    assert sent() == []


def test_bids_of_a_failed_and_of_a_released_rent_end(spot: FakeHost, rin: User) -> None:
    failed, gone = bid(rin, spot, 1.00), bid(rin, spot, 1.00)
    spot.end(failed)
    release_instance(renter=rin, instance_id=gone.pk)
    turn(spot)
    assert [seen(each)[:2] for each in (failed, gone)] == [("failed", "ended"), ("gone", "ended")]


def test_a_bid_may_be_raised_lowered_and_repeated_in_place(spot: FakeHost, rin: User, bo: User) -> None:
    mine = bid(rin, spot, 1.00, gpus=2)
    change_bid(renter=rin, instance_id=mine.pk, max_price_micros=2_000_000)
    assert wallet(rin).held_micros == 4 * UNIT
    assert events(mine).count("bid_changed") == 1
    change_bid(renter=rin, instance_id=mine.pk, max_price_micros=2_000_000)
    assert events(mine).count("bid_changed") == 1
    assert Meter.objects.get(closed_at=None).most_micros == 4 * UNIT
    bid(bo, spot, 9.00, gpus=2)
    bid(bo, spot, 1.70, gpus=2)
    assert seen(mine)[2] == 1_700_000
    change_bid(renter=rin, instance_id=mine.pk, max_price_micros=600_000)
    tick_offer(offer_id=spot.offer.pk)
    assert seen(mine) == ("running", "holding", 600_000)
    for wrong in (499_999, 0):
        with pytest.raises(InvalidInput), refused():
            change_bid(renter=rin, instance_id=mine.pk, max_price_micros=wrong)
    with pytest.raises(InsufficientFunds), refused():
        change_bid(renter=rin, instance_id=mine.pk, max_price_micros=10**10)
    with pytest.raises(NotFound), refused():
        change_bid(renter=bo, instance_id=mine.pk, max_price_micros=700_000)


def test_a_second_tick_changes_nothing(spot: FakeHost, rin: User, bo: User) -> None:
    instances = [bid(rin, spot, 2.00, gpus=2), bid(bo, spot, 1.00, gpus=2), bid(bo, spot, 0.70)]
    before = [(seen(each), events(each), reload(each).generation) for each in instances]
    turn(spot)
    assert [(seen(each), events(each), reload(each).generation) for each in instances] == before
    assert SpotPrice.objects.count() == 2
