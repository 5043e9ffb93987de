"""Changes of the billing mode in place, GPUs kept for a fee, disks that cost: every lawful direction, sums by hand."""

from datetime import timedelta

import pytest

from accounts.models import User
from billing.errors import InsufficientFunds
from billing.models import Hold, Meter, Order
from common import clock
from common.errors import IllegalTransition, NotFound
from instances.billing_mode.change_quotes import quote_change
from instances.billing_mode.convert import convert_instance
from instances.enforcement.sweeps import end_terms
from instances.errors import QuoteMismatch, QuoteUsed
from instances.lifecycle.meter_closing import close_leftover_meters
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.metering.costs import charges_of, cost_of
from instances.models import Instance
from instances.orders.quote_claims import Expected
from instances.orders.quotes import quote_signature
from instances.orders.rent import rent_instance
from instances.release.services import expire_instance, release_instance
from instances.spot.market_tick import tick_all
from marketplace.errors import PriceChanged
from marketplace.hosts.offers import set_price
from marketplace.leasing.selectors import live_leases_of
from marketplace.models import Lease
from tests.billing.money import UNIT, grant
from tests.instances.fake_host import FakeHost, refused, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import (
    assert_all_well,
    balance,
    converted,
    held,
    market,
    pass_time,
    quoted,
    rented,
    running,
    sell,
)


@pytest.fixture
def seller(rin: User, host: FakeHost) -> FakeHost:
    sell(host)
    return host


def stopped(renter: User, host: FakeHost, instance: Instance, *, hold: bool = False) -> Instance:
    stop_instance(renter=renter, instance_id=instance.pk, hold=hold)
    host.settle()
    return reload(instance)


# -- tiered


def test_tiers_by_hand(rin: User, seller: FakeHost, hours: Clock) -> None:
    """Two hours at 3.60, two at 3.24, one at 2.70: 16.38."""
    instance = running(rin, seller, "tiered")
    step = cost_of(instance, clock.now()).next_step
    assert step is not None
    assert (step.from_hours, step.rate_micros, step.in_hours) == (2, 3_240_000, 2.0)
    pass_time(seller, hours, 5 * 3600)
    assert balance(rin) == 1000 * UNIT - 16_380_000
    assert cost_of(reload(instance), clock.now()).next_step is None
    assert_all_well()


def test_tiers_are_frozen_at_the_rent(rin: User, seller: FakeHost, hours: Clock) -> None:
    running(rin, seller, "tiered")
    sell(seller, price_micros=9 * UNIT, tiers=[(1, 100)])
    pass_time(seller, hours, 5 * 3600)
    assert balance(rin) == 1000 * UNIT - 16_380_000


def test_a_short_stop_goes_on_counting_and_a_long_one_begins_again(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = running(rin, seller, "tiered")
    pass_time(seller, hours, 3 * 3600)
    stopped(rin, seller, instance)
    hours.advance(hours=23)
    start_instance(renter=rin, instance_id=instance.pk)
    seller.settle()
    pass_time(seller, hours, 3600)
    assert balance(rin) == 1000 * UNIT - 7_200_000 - 3_240_000 - 3_240_000
    stopped(rin, seller, instance)
    hours.advance(hours=25)
    start_instance(renter=rin, instance_id=instance.pk)
    seller.settle()
    pass_time(seller, hours, 3600)
    assert balance(rin) == 1000 * UNIT - 13_680_000 - 3_600_000
    assert_all_well()


# -- in place


def test_hourly_to_tiered_and_back(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = running(rin, seller, "hourly")
    leases = list(Lease.objects.values_list("pk", flat=True))
    pass_time(seller, hours, 1800)
    hours.advance(seconds=29)  # between two reports: no second is charged twice, none is lost
    instance = converted(rin, instance, "tiered")
    assert (instance.billing_mode, instance.tiers) == ("tiered", [[2, 3_240_000], [4, 2_700_000]])
    pass_time(seller, hours, 1)
    pass_time(seller, hours, 3570)
    assert balance(rin) == 1000 * UNIT - 1_800_000 - 3_600_000
    converted(rin, instance, "hourly")
    pass_time(seller, hours, 3600)
    assert balance(rin) == 1000 * UNIT - 9_000_000
    assert list(Lease.objects.filter(released_at=None).values_list("pk", flat=True)) == leases
    assert [order.kind for order in Order.objects.order_by("created_at", "id")] == ["rent", "conversion", "conversion"]
    assert_all_well()


def test_hourly_to_a_prepaid_term(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = running(rin, seller, "hourly")
    pass_time(seller, hours, 1800)
    quote = quote_change(renter=rin, instance_id=instance.pk, billing_mode="reserved", term="day")
    assert (quote.due_now_micros, quote.for_instance_id) == (24 * 3_420_000, instance.pk)
    expected = Expected(signature=quote_signature(quote), max_total_micros=quote.due_now_micros)
    convert_instance(renter=rin, instance_id=instance.pk, quote_id=quote.pk, expected=expected)
    assert balance(rin) == 1000 * UNIT - 1_800_000 - 82_080_000
    assert held(rin) == 0
    pass_time(seller, hours, 3600)
    assert market("escrow") == 23 * 3_420_000
    assert_all_well()


def test_a_stopped_instance_is_reserved_from_its_next_run_on(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = stopped(rin, seller, running(rin, seller, "hourly"))
    instance = converted(rin, instance, "reserved", term="day")
    bill = cost_of(instance, clock.now())
    assert (bill.term, bill.waits is not None) == (None, True)
    pass_time(seller, hours, 3600)
    assert market("escrow") == 24 * 3_420_000
    start_instance(renter=rin, instance_id=instance.pk)
    seller.settle()
    pass_time(seller, hours, 3600)
    assert market("escrow") == 23 * 3_420_000
    assert_all_well()


def test_spot_becomes_hourly_and_does_not_yield_any_more(rin: User, seller: FakeHost, hours: Clock) -> None:
    sell(seller, spot_floor_micros=UNIT)
    instance = rented(rin, seller, "spot", max_price_micros=2 * UNIT)
    assert reload(instance).state == "waiting"
    tick_all()
    seller.settle()
    assert reload(instance).state == "running"
    pass_time(seller, hours, 1800)
    converted(rin, instance, "hourly")
    assert not Lease.objects.filter(released_at=None, spot=True).exists()
    pass_time(seller, hours, 3600)
    assert balance(rin) == 1000 * UNIT - 500_000 - 3_600_000
    tick_all()
    assert reload(instance).state == "running"
    assert_all_well()


@pytest.mark.parametrize(("mode", "target"), [("hourly", "spot"), ("hourly", "hourly"), ("tiered", "spot")])
def test_unlawful_changes(rin: User, seller: FakeHost, mode: str, target: str) -> None:
    instance = running(rin, seller, mode)
    with pytest.raises(IllegalTransition):
        quote_change(renter=rin, instance_id=instance.pk, billing_mode=target)


def test_a_change_must_be_what_was_quoted_for_it(rin: User, alice: User, bob: User, seller: FakeHost) -> None:
    instance, other = running(rin, seller, "hourly"), running(rin, seller, "hourly")
    quote = quote_change(renter=rin, instance_id=instance.pk, billing_mode="tiered")
    ask = {"renter": rin, "quote_id": quote.pk}
    with refused(), pytest.raises(NotFound):
        convert_instance(instance_id=other.pk, **ask)  # type: ignore[arg-type]
    with refused(), pytest.raises(NotFound):
        rent_instance(renter=rin, quote_id=quote.pk)
    with refused(), pytest.raises(QuoteMismatch):
        convert_instance(instance_id=instance.pk, expected=Expected(signature="0" * 64), **ask)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        quote_change(renter=bob, instance_id=instance.pk, billing_mode="tiered")
    set_price(actor_id=seller.owner.pk, offer_id=seller.offer.pk, price_micros=4 * UNIT)
    with refused(), pytest.raises(PriceChanged):
        convert_instance(instance_id=instance.pk, **ask)  # type: ignore[arg-type]
    fresh = quote_change(renter=rin, instance_id=instance.pk, billing_mode="tiered")
    convert_instance(renter=rin, instance_id=instance.pk, quote_id=fresh.pk)
    with refused(), pytest.raises(QuoteUsed):
        convert_instance(renter=rin, instance_id=instance.pk, quote_id=fresh.pk)
    assert reload(instance).rate_micros_per_hour == 4 * UNIT


def test_a_change_that_cannot_be_paid_changes_nothing(bob: User, seller: FakeHost, hours: Clock) -> None:
    grant(bob, 10 * UNIT)
    instance = running(bob, seller, "hourly")
    with refused(), pytest.raises(InsufficientFunds):
        converted(bob, instance, "reserved", term="day")
    assert reload(instance).billing_mode == "hourly"
    pass_time(seller, hours, 3600)
    assert balance(bob) == 10 * UNIT - 3_600_000
    assert_all_well()


# -- GPUs kept for a fee


def test_kept_gpus_cost_the_fee_and_start_at_the_old_price(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = running(rin, seller, "hourly")
    pass_time(seller, hours, 3600)
    kept = stopped(rin, seller, instance, hold=True)
    assert (kept.holds_gpus, kept.hold_micros_per_hour, kept.release_at) == (True, 1_800_000, None)
    assert len(live_leases_of(instance.pk)) == 1
    sell(seller, price_micros=9 * UNIT, hold_bps=10_000)
    pass_time(seller, hours, 2 * 3600)
    assert balance(rin) == 1000 * UNIT - 3_600_000 - 3_600_000
    start_instance(renter=rin, instance_id=instance.pk)
    seller.settle()
    pass_time(seller, hours, 3600)
    assert balance(rin) == 1000 * UNIT - 10_800_000
    assert {line.source_kind for line in charges_of(reload(instance))} == {"instance", "hold"}
    assert_all_well()


def test_kept_gpus_are_let_go_by_a_second_stop(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = stopped(rin, seller, running(rin, seller, "tiered"), hold=True)
    assert "stop" in instance.actions
    hours.advance(seconds=1800)
    seller.was_there()
    stop_instance(renter=rin, instance_id=instance.pk)
    after = reload(instance)
    assert (after.holds_gpus, after.release_at) == (False, clock.now() + timedelta(days=30))
    assert (live_leases_of(instance.pk), held(rin)) == ([], 0)
    assert balance(rin) == 1000 * UNIT - 900_000
    assert "stop" not in after.actions
    assert_all_well()


def test_an_empty_wallet_lets_kept_gpus_go(bob: User, seller: FakeHost, hours: Clock) -> None:
    grant(bob, 6 * UNIT)
    instance = stopped(bob, seller, running(bob, seller, "hourly"), hold=True)
    pass_time(seller, hours, 4 * 3600)
    after = reload(instance)
    assert (after.state, after.holds_gpus) == ("stopped", False)
    assert balance(bob) >= 0
    assert balance(bob) < 1_800_000
    assert live_leases_of(instance.pk) == []
    assert_all_well()


def test_kept_gpus_go_into_a_term_at_once(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = stopped(rin, seller, running(rin, seller, "hourly"), hold=True)
    converted(rin, instance, "reserved", term="day")
    assert cost_of(reload(instance), clock.now()).term is not None
    pass_time(seller, hours, 3600)
    assert market("escrow") == 23 * 3_420_000
    release_instance(renter=rin, instance_id=instance.pk)
    seller.settle()
    assert (reload(instance).state, market("escrow"), held(rin)) == ("gone", 0, 0)
    assert_all_well()


def test_spot_gpus_are_not_kept(rin: User, seller: FakeHost) -> None:
    sell(seller, spot_floor_micros=UNIT)
    instance = rented(rin, seller, "spot", max_price_micros=2 * UNIT)
    tick_all()
    seller.settle()
    with refused(), pytest.raises(IllegalTransition):
        stop_instance(renter=rin, instance_id=instance.pk, hold=True)


# -- disks


def test_a_disk_is_charged_running_or_stopped_until_its_data_ends(rin: User, seller: FakeHost, hours: Clock) -> None:
    """50 GB above the quota at 0.0048 a day: 0.24 a day, 0.01 an hour."""
    quote = quoted(rin, seller, "hourly", data_disk_gb=100)
    assert quote.due_now_micros == 3_600_000 + 10_000
    instance = rented(rin, seller, "hourly", data_disk_gb=100)
    assert (held(rin), instance.rate_micros_per_hour) == (3_610_000, 3_600_000)
    seller.settle()
    sell(seller, disk_micros_gb_day=10**6)
    pass_time(seller, hours, 3600)
    assert balance(rin) == 1000 * UNIT - 3_610_000
    stopped(rin, seller, instance)
    pass_time(seller, hours, 23 * 3600)
    assert balance(rin) == 1000 * UNIT - 3_600_000 - 240_000
    release_instance(renter=rin, instance_id=instance.pk)
    hours.advance(hours=5)  # the host takes its time: not the renter's
    seller.settle()
    assert reload(instance).state == "gone"
    assert (balance(rin), held(rin)) == (1000 * UNIT - 3_840_000, 0)
    assert close_leftover_meters() == 0
    assert_all_well()


def test_what_is_left_over_of_the_gone_is_closed_by_the_sweep(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = rented(rin, seller, "hourly", data_disk_gb=100)
    seller.settle()
    release_instance(renter=rin, instance_id=instance.pk)
    Instance.objects.filter(pk=instance.pk).update(state="gone", released_at=clock.now())
    assert close_leftover_meters() == 2
    assert not Hold.objects.filter(released_at=None).exists()
    assert not Meter.objects.filter(closed_at=None).exists()


def test_disks_without_money_are_kept_and_not_charged(bob: User, seller: FakeHost, hours: Clock) -> None:
    grant(bob, 5 * UNIT)
    sell(seller, disk_micros_gb_day=480_000)  # 1.00 an hour
    instance = rented(bob, seller, "hourly", data_disk_gb=100)
    seller.settle()
    pass_time(seller, hours, 3 * 3600)
    seller.settle()
    pass_time(seller, hours, 5 * 3600)
    left = balance(bob)
    assert 0 <= left < UNIT
    hours.advance(days=10)
    grant(bob, 100 * UNIT)
    pass_time(seller, hours, 3600)
    assert left + 100 * UNIT - balance(bob) <= 2 * UNIT, "ten days without money are not charged afterwards"
    assert reload(instance).state == "stopped"
    assert_all_well()


def test_purge_and_start_with_a_disk(rin: User, seller: FakeHost, hours: Clock) -> None:
    instance = stopped(rin, seller, running(rin, seller, "hourly", data_disk_gb=100))
    pass_time(seller, hours, 100)
    hours.advance(days=31)
    seller.sync()
    start_instance(renter=rin, instance_id=instance.pk)
    assert expire_instance(instance_id=instance.pk) is False
    seller.settle()
    assert reload(instance).state == "running"
    stopped(rin, seller, instance)
    hours.advance(days=31)
    assert expire_instance(instance_id=instance.pk) is True
    with refused(), pytest.raises(IllegalTransition):
        start_instance(renter=rin, instance_id=instance.pk)
    seller.settle()
    assert reload(instance).state == "gone"
    assert end_terms(now=clock.now()) == 0
    assert_all_well()
