"""Data kept for a fee after its free time: what is set aside, charged by the day, given back, and when it is released."""

from datetime import timedelta

import pytest
from django.core import mail

from accounts.mail.outbox import send_mails
from accounts.models import User
from billing.errors import InsufficientFunds
from billing.metering.settle import extend_holds, settle_meters
from billing.models import Meter, Order
from billing.standing.mail import queue_notices
from common import clock
from common.errors import IllegalTransition, InvalidInput
from instances.core.selectors import instance_of
from instances.enforcement.arrears import announce_data_ends
from instances.enforcement.sweeps import purge_expired
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from instances.release.services import release_instance
from instances.retention.data_retention import keep_data, keep_price, update_retention_meters
from marketplace.errors import PriceChanged
from marketplace.models import Offer
from tests.billing.money import UNIT, charged, wallet
from tests.instances.fake_host import FakeHost, order_running, refused, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import assert_all_well, balance, held, sell
from tests.mails import sent

# A 10 GB data disk and 10 GB of root at 0.0048 a GB-day.
DAILY = 20 * 4_800


@pytest.fixture
def stopped(rin: User, host: FakeHost) -> Instance:
    sell(host)
    instance = order_running(rin, host)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    return reload(instance)


def keep(renter: User, instance: Instance, days: int) -> Instance:
    return keep_data(renter=renter, instance_id=instance.pk, days=days)


def pass_days(hours: Clock, days: int, host: FakeHost) -> None:
    for _ in range(days):
        hours.advance(days=1)
        host.was_there()
        now = clock.now()
        update_retention_meters(now=now)
        extend_holds(now=now)
        settle_meters(now=now)
        purge_expired(now=now)
        host.settle()


def test_the_fee_is_set_aside_and_charged_by_the_day_until_it_is_released(
    rin: User, host: FakeHost, stopped: Instance, hours: Clock
) -> None:
    before, ends = balance(rin), stopped.release_at
    assert ends is not None
    kept = keep(rin, stopped, 7)
    assert (kept.release_at, kept.paid_from) == (ends + timedelta(days=7), ends)
    assert held(rin) == 7 * DAILY
    assert Order.objects.get(source_kind="retention").title.startswith("box: data kept 7 days longer")
    pass_days(hours, 30, host)
    assert charged(stopped.pk) == 0, "the thirty days stay free"
    pass_days(hours, 3, host)
    assert reload(stopped).state == "stopped"
    assert before - balance(rin) == 3 * DAILY
    pass_days(hours, 5, host)
    assert reload(stopped).state == "gone"
    settle_meters(now=clock.now())
    assert (before - balance(rin), held(rin)) == (7 * DAILY, 0), "to the day, though the host took longer"
    assert_all_well()


def test_a_start_gives_back_what_was_not_used(rin: User, host: FakeHost, stopped: Instance, hours: Clock) -> None:
    before = balance(rin)
    keep(rin, stopped, 30)
    pass_days(hours, 32, host)
    start_instance(renter=rin, instance_id=stopped.pk)
    assert before - balance(rin) == 2 * DAILY
    assert held(rin) == host.offer.price_micros
    row = reload(stopped)
    assert (row.paid_from, row.retention_micros_per_day, row.release_at) == (None, 0, None)
    host.settle()
    stop_instance(renter=rin, instance_id=stopped.pk)
    host.settle()
    assert reload(stopped).release_at == clock.now() + timedelta(days=30), "a new stop, a new free time"
    assert_all_well()


def test_a_second_extension_goes_on_at_the_price_of_the_first(
    rin: User, host: FakeHost, stopped: Instance, hours: Clock
) -> None:
    before = balance(rin)
    keep(rin, stopped, 7)
    keep(rin, stopped, 7)
    assert held(rin) == 14 * DAILY
    Offer.objects.filter(pk=host.offer.pk).update(disk_micros_gb_day=9_600)
    pass_days(hours, 32, host)
    assert keep_price(instance_of(rin, stopped.pk), days=7).fee_micros == 7 * DAILY
    keep(rin, stopped, 7)
    assert held(rin) == 19 * DAILY, "two of twenty-one days are charged"
    pass_days(hours, 18, host)
    assert reload(stopped).state == "stopped"
    pass_days(hours, 2, host)
    assert (reload(stopped).state, held(rin)) == ("gone", 0)
    assert before - balance(rin) == 21 * DAILY
    assert Meter.objects.filter(source_kind="retention").count() == 2
    assert_all_well()


def test_a_release_in_the_free_time_costs_nothing(rin: User, host: FakeHost, stopped: Instance) -> None:
    before = balance(rin)
    keep(rin, stopped, 90)
    release_instance(renter=rin, instance_id=stopped.pk)
    host.settle()
    assert (balance(rin), held(rin), reload(stopped).state) == (before, 0, "gone")
    assert_all_well()


def test_what_cannot_be_kept(rin: User, host: FakeHost, stopped: Instance) -> None:
    running = order_running(rin, host)
    with refused(), pytest.raises(IllegalTransition):
        keep(rin, running, 7)
    with refused(), pytest.raises(InvalidInput):
        keep(rin, stopped, 366)
    with refused(), pytest.raises(InvalidInput, match="400"):
        keep(rin, keep(rin, stopped, 200), 200)
    with refused(), pytest.raises(PriceChanged):
        keep_data(renter=rin, instance_id=stopped.pk, days=7, max_fee_micros=7 * DAILY - 1)
    spare = wallet(rin).spendable_micros - DAILY
    quote = create_quote(renter=rin, offer_id=FakeHost(host.owner, price=f"{spare / UNIT:.2f}").offer.pk, image="berth-base")
    rent_instance(renter=rin, quote_id=quote.pk, name="dear")
    with refused(), pytest.raises(InsufficientFunds):
        keep(rin, stopped, 30)


def test_warnings_go_out_once_for_each_date(rin: User, host: FakeHost, stopped: Instance, hours: Clock) -> None:
    """7, 3 and 1 days ahead; put off, the new date is announced anew, and the old one is told no more."""
    messages: list[str] = []

    def days(count: int) -> list[str]:
        for _ in range(count * 4):
            hours.advance(hours=6)
            host.sync()
            for sweep in (announce_data_ends, queue_notices, send_mails, update_retention_meters, purge_expired):
                sweep(now=clock.now())
        fresh = [str(message.subject) for message in sent()[len(messages) :]]
        messages.extend(fresh)
        return fresh

    assert len(days(28)) == 2
    keep(rin, stopped, 7)
    assert days(1) == [], "eight days are left again"
    fresh = days(8)
    assert len(fresh) == 3
    assert all("2025-04-07" in subject for subject in fresh)
    assert "extend" in mail.outbox[-1].body
    assert reload(stopped).state in ("releasing", "gone")
