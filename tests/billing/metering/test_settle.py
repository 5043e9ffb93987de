"""The sweeps: full hours of open meters, the rest of closed ones, renewals while the money lasts."""

import logging
from datetime import timedelta

import pytest

from accounts.models import User
from billing.metering.costs import exhausted_sources
from billing.metering.settle import extend_holds
from billing.models import Entry, Posting, Usage
from tests.billing.money import RATE, START, UNIT, Source, assert_sound, at, charged, execute, grant, settle, wallet

pytestmark = pytest.mark.django_db


@pytest.fixture
def source(alice: User, hana: User) -> Source:
    grant(alice, 100 * UNIT)
    return Source(alice, hana)


def test_only_full_hours_of_an_open_meter_are_posted_each_as_a_line(source: Source) -> None:
    source.start()
    source.run(START, at(hours=2, minutes=59))
    assert settle(at(minutes=59)) == 0
    assert settle(at(hours=2, minutes=59)) == 2
    rows = Usage.objects.order_by("period_from")
    assert [(row.period_from, row.period_to) for row in rows] == [(START, at(hours=1)), (at(hours=1), at(hours=2))]
    assert {row.posting_id for row in rows} == {Posting.objects.get(kind="usage").pk}, "one posting for a batch"
    assert sorted(Entry.objects.filter(posting__kind="usage").values_list("kind", "amount_micros")) == [
        ("charge", -2 * RATE),
        ("host_share", 2 * RATE - 2 * RATE // 10),
        ("platform_fee", 2 * RATE // 10),
    ]
    assert charged(source.key) == 2 * RATE
    assert_sound()


def test_a_second_pass_writes_nothing(source: Source) -> None:
    source.start()
    source.run(START, at(hours=3))
    assert settle(at(hours=3)) == 3

    def state() -> tuple[int, ...]:
        counts = Posting.objects.count(), Entry.objects.count(), Usage.objects.count()
        return (*counts, wallet(source.payer).balance_micros)

    before = state()
    assert settle(at(hours=3)) == 0
    assert state() == before


def test_closing_posts_the_hours_and_the_rest(source: Source) -> None:
    source.start()
    source.run(START, at(hours=2, seconds=100))
    source.close()
    lengths = [row.period_to - row.period_from for row in Usage.objects.order_by("period_from")]
    assert lengths == [timedelta(hours=1), timedelta(hours=1), timedelta(seconds=100)]
    assert charged(source.key) == 2 * RATE + 85_000
    assert wallet(source.payer).held_micros == 0
    assert_sound()


def test_settling_late_costs_the_same_as_settling_on_time(alice: User, hana: User) -> None:
    grant(alice, 1000 * UNIT)
    on_time, late = (Source(alice, hana, rate=3_333_333) for _ in range(2))
    on_time.start()
    for hour in range(25):
        on_time.run(at(hours=hour), at(hours=hour + 1))
        assert settle(at(hours=hour + 1)) == 1
    on_time.run(at(hours=25), at(hours=25, seconds=17))
    on_time.close()
    late.start()
    late.run(START, at(hours=25, seconds=17))
    assert settle(at(hours=25, seconds=17)) == 25
    late.close()
    assert charged(on_time.key) == charged(late.key) == 83_333_325 + 15_741
    assert_sound()


def test_a_hold_is_renewed_a_minute_before_it_ends_and_only_then(source: Source) -> None:
    source.start()
    source.run(START, at(minutes=58, seconds=59), renewed=False)
    assert extend_holds(now=at(minutes=58, seconds=59)) == 0
    assert extend_holds(now=at(minutes=59)) == 1
    assert source.meter.funded_until == at(hours=2)
    assert wallet(source.payer).held_micros == 2 * RATE
    assert extend_holds(now=at(minutes=59)) == 0
    assert_sound()


def test_after_an_outage_the_renewal_catches_up_at_once(source: Source) -> None:
    source.start()
    source.run(START, at(hours=5), renewed=False)
    assert extend_holds(now=at(hours=5)) == 1
    assert source.meter.funded_until == at(hours=6)
    assert_sound()


def test_renewals_stop_where_the_money_ends_and_the_source_is_named(alice: User, hana: User) -> None:
    grant(alice, 2 * RATE + RATE // 2)
    source = Source(alice, hana).start()
    source.run(START, at(hours=4))
    assert exhausted_sources(source_kind="instance", now=at(hours=2) - timedelta(microseconds=1)) == []
    assert exhausted_sources(source_kind="instance", now=at(hours=2)) == [source.key]
    assert exhausted_sources(source_kind="volume", now=at(hours=2)) == []
    settle(at(hours=4))
    source.close()
    assert charged(source.key) == 2 * RATE
    assert wallet(alice).balance_micros == RATE // 2
    assert_sound()


def test_a_rich_renter_is_never_named_exhausted_only_because_the_renewal_is_late(source: Source) -> None:
    source.start()
    assert exhausted_sources(source_kind="instance", now=at(hours=3)) == []


def test_a_grant_in_time_prevents_the_exhaustion(alice: User, hana: User) -> None:
    grant(alice, RATE)
    source = Source(alice, hana).start()
    source.run(START, at(hours=1))
    assert exhausted_sources(source_kind="instance", now=at(hours=1)) == [source.key]
    grant(alice, RATE)
    assert exhausted_sources(source_kind="instance", now=at(hours=1)) == []
    assert extend_holds(now=at(hours=1)) == 1
    assert_sound()


def test_one_too_dear_does_not_stand_in_the_way_of_another(alice: User, hana: User) -> None:
    grant(alice, 12 * UNIT)
    dear, cheap = Source(alice, hana, rate=10 * UNIT), Source(alice, hana, rate=UNIT)
    dear.start()
    cheap.start(at(seconds=1))
    for each in (dear, cheap):
        each.run(at(seconds=1), at(minutes=59), renewed=False)
    assert extend_holds(now=at(minutes=59, seconds=30)) == 1
    assert (dear.meter.funded_until, cheap.meter.funded_until) == (at(hours=1), at(hours=2, seconds=1))
    assert_sound()


def test_a_stopping_source_holds_no_further_hour(source: Source) -> None:
    source.start()
    running = Source(source.payer, source.payee).start()
    running.run(START, at(minutes=59), renewed=False)
    source.cap(at(minutes=59, seconds=30))
    assert extend_holds(now=at(minutes=59, seconds=30)) == 1
    assert (source.meter.funded_until, running.meter.funded_until) == (at(hours=1), at(hours=2))
    assert_sound()


@pytest.mark.django_db(transaction=True)
def test_one_broken_meter_does_not_stop_the_bill_of_the_others(
    alice: User, bob: User, hana: User, caplog: pytest.LogCaptureFixture
) -> None:
    grant(bob, 100 * UNIT)
    grant(alice, 100 * UNIT)
    healthy = [Source(alice, hana).start() for _ in range(4)]
    broken = Source(bob, hana).start()
    for source in (*healthy, broken):
        source.run(START, at(hours=1))
    execute("UPDATE billing_hold SET amount_micros = 1 WHERE source_id = %s", broken.key)
    with caplog.at_level(logging.ERROR):
        assert settle(at(hours=1)) == 4
    assert "cannot be settled" in caplog.text
    assert [charged(source.key) for source in (*healthy, broken)] == [RATE] * 4 + [0]
