"""Tariffs on meters: by the clock, by steps, by a price that moves, out of escrow; and renewals from what is really left."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine

from accounts.models import User
from billing.constants import DISK_SOURCE, INSTANCE_SOURCE, TERM_SOURCE
from billing.ledger.postings import Movement, post
from billing.ledger.selectors import wallet_of
from billing.ledger.wallets import open_wallet
from billing.metering.costs import costs_of, exhausted_sources
from billing.metering.holds import hold_funds
from billing.metering.meters import close_meter, open_meter, reprice_meter
from billing.metering.settle import extend_holds
from billing.metering.spending_selectors import spend_by
from billing.metering.usage_selectors import usage_lines
from billing.models import Entry, Posting, Usage, Wallet
from billing.pricing.rates import hold_of
from billing.pricing.tariffs import Scope, Tariff
from billing.statements.selectors import statement_lines
from common.db.transactions import use_case
from common.errors import InvalidInput
from tests.billing.money import RATE, START, UNIT, Source, assert_sound, at, charged, grant, settle, wallet

pytestmark = pytest.mark.django_db
HOUR = 3_600_000_000
DAY = timedelta(hours=24)
TIERS = Tariff(2 * UNIT, steps=((2 * HOUR, UNIT), (4 * HOUR + HOUR // 2, UNIT // 2)))


@pytest.fixture
def rich(alice: User) -> User:
    grant(alice, 1000 * UNIT)
    return alice


def rows_of(source: Source) -> list[tuple[float, int, int]]:
    """(minutes, rate, charge) in the order of time."""
    rows = Usage.objects.filter(meter__source_id=source.key).order_by("period_from")
    return [((row.period_to - row.period_from) / timedelta(minutes=1), row.rate_micros, row.charge_micros) for row in rows]


def reprice(source: Source, rate: int, seconds: float) -> None:
    with use_case():
        reprice_meter(source_kind=INSTANCE_SOURCE, source_id=source.key, rate_micros=rate, at=at(seconds=seconds))


def end(source: Source, **after: float) -> None:
    with time_machine.travel(at(**after), tick=False), use_case():
        close_meter(source_kind=INSTANCE_SOURCE, source_id=source.key)


def test_a_calendar_meter_is_charged_by_the_clock_for_a_day_at_a_time(rich: User, hana: User) -> None:
    """36 GB at 0.10 for a GB and day: 3.60 a day, 0.15 an hour, in 24 lines a day."""
    disk = Source(rich, hana, tariff=Tariff(3_600_000, hours=24), calendar=True)
    disk.hold(hold_of(disk.tariff or TIERS))
    disk.open(START)
    for hour in range(30):
        extend_holds(now=at(hours=hour))
    assert settle(at(hours=24)) == 24
    assert charged(disk.key) == 3_600_000
    assert set(Usage.objects.values_list("charge_micros", flat=True)) == {150_000}
    line = statement_lines(owner_id=rich.pk, limit=1)[0]
    assert (line.unit, line.rate_micros, line.rate_micros_per_hour, line.amount_micros) == ("day", 3_600_000, None, -150_000)
    view = wallet_of(owner_id=rich.pk, now=at(hours=24, minutes=20))
    assert (view.accrued_micros, view.burn_micros_per_hour) == (50_000, 150_000)
    end(disk, hours=24, minutes=30)
    assert charged(disk.key) == 3_675_000
    assert_sound(at(hours=25))


def test_a_calendar_meter_ends_where_it_is_told_and_where_its_money_ends(alice: User, hana: User) -> None:
    grant(alice, 2 * RATE)
    first = Source(alice, hana, calendar=True)
    first.start()
    with time_machine.travel(at(minutes=50), tick=False), use_case():
        close_meter(source_kind=INSTANCE_SOURCE, source_id=first.key, at=at(minutes=30))
    assert charged(first.key) == RATE // 2
    second = Source(alice, hana, calendar=True)
    second.start()
    assert extend_holds(now=at(hours=1)) == 0, "half an hour's money is left"
    settle(at(hours=9))
    assert exhausted_sources(source_kind=INSTANCE_SOURCE, now=at(hours=1)) == [second.key]
    end(second, hours=9)
    assert charged(second.key) == RATE, "unfunded time is never charged"
    assert wallet(alice).balance_micros == RATE // 2
    assert_sound(at(hours=10))


def test_fault_065_a_tiered_meter_is_cut_at_its_steps_and_each_line_has_one_rate(rich: User, hana: User) -> None:
    source = Source(rich, hana, tariff=TIERS)
    source.hold(2 * UNIT)
    source.open(START)
    source.run(START, at(hours=5, minutes=10))
    assert settle(at(hours=5, minutes=10)) == 6
    end(source, hours=5, minutes=10)
    assert rows_of(source) == [
        (60, 2 * UNIT, 2 * UNIT),
        (60, 2 * UNIT, 2 * UNIT),
        (60, UNIT, UNIT),
        (60, UNIT, UNIT),
        (30, UNIT, UNIT // 2),
        (30, UNIT // 2, UNIT // 4),
        (10, UNIT // 2, 83_333),
    ]
    assert_sound(at(hours=6))


@pytest.mark.parametrize(("pause_hours", "first_rate"), [(23.9, UNIT), (24.1, 2 * UNIT)])
def test_continuous_use_goes_on_counting_after_a_short_stop_only(
    rich: User, hana: User, pause_hours: float, first_rate: int
) -> None:
    source = Source(rich, hana, tariff=TIERS, continue_within=DAY)
    source.hold(2 * UNIT)
    source.open(START)
    source.run(START, at(hours=3))
    end(source, hours=3)
    again = at(hours=3 + pause_hours)
    source.hold(2 * UNIT)
    source.open(again)
    source.run(again, again + timedelta(hours=1))
    settle(again + timedelta(hours=1))
    assert rows_of(source)[-1] == (60, first_rate, first_rate)
    assert_sound(again + timedelta(hours=2))


def test_an_outage_of_the_host_is_no_break_of_the_renters(rich: User, hana: User) -> None:
    source = Source(rich, hana, tariff=TIERS)
    source.hold(2 * UNIT)
    source.open(START)
    source.run(START, at(hours=3))
    source.prove(at(hours=3, minutes=10))
    source.run(at(hours=3, minutes=10), at(hours=4, minutes=10))
    settle(at(hours=5))
    assert len(source.meters) == 2
    assert rows_of(source)[-1] == (60, UNIT, UNIT)
    assert_sound(at(hours=5))


def test_fault_065_a_new_price_counts_from_its_moment_and_the_past_stays(rich: User, hana: User) -> None:
    """Spot: 1.00 agreed, at most 3.00. After 20 minutes 2.50, after an hour and a half 0.40."""
    source = Source(rich, hana, tariff=Tariff(UNIT, most_micros=3 * UNIT))
    source.hold(3 * UNIT)
    source.open(START)
    source.run(START, at(minutes=20))
    reprice(source, 2_500_000, 20 * 60)
    source.run(at(minutes=20), at(minutes=90))
    settle(at(minutes=90))
    reprice(source, 2_400_000, 59 * 60)  # late: what is charged stays
    reprice(source, 400_000, 90 * 60)
    source.run(at(minutes=90), at(hours=3))
    end(source, hours=3)
    assert rows_of(source) == [
        (20, UNIT, 333_333),
        (40, 2_500_000, 1_666_667),
        (30, 2_400_000, 1_200_000),
        (30, 400_000, 200_000),
        (60, 400_000, 400_000),
    ]
    assert_sound(at(hours=4))


def test_a_price_above_what_was_agreed_is_refused(rich: User, hana: User) -> None:
    source = Source(rich, hana, tariff=Tariff(UNIT, most_micros=3 * UNIT))
    source.hold(3 * UNIT)
    source.open(START)
    with pytest.raises(InvalidInput):
        reprice(source, 3 * UNIT + 1, 60)


def test_many_prices_go_on_in_another_meter_and_cost_the_same(rich: User, hana: User) -> None:
    source = Source(rich, hana, tariff=Tariff(UNIT, most_micros=3 * UNIT))
    source.hold(3 * UNIT)
    source.open(START)
    owed = 0
    for minute in range(80):
        rate = 600_000 + 60_000 * (minute % 7)
        source.run(at(minutes=minute), at(minutes=minute + 1), timedelta(seconds=30))
        owed += source.meter.tariff.rate_at(source.meter.used_us(at(minutes=minute)))
        reprice(source, rate, 60 * (minute + 1))
    end(source, minutes=80)
    assert len(source.meters) == 3
    assert charged(source.key) == pytest.approx(owed / 60, abs=3)
    assert sum(minutes for minutes, _rate, _charge in rows_of(source)) == 80
    assert_sound(at(hours=2))


def test_what_a_moving_price_did_not_cost_is_not_held_again(rich: User, hana: User) -> None:
    """At most 3.00, really 1.00: each hour's renewal holds the 1.00 that was spent, not 3.00 more."""
    source = Source(rich, hana, tariff=Tariff(UNIT, most_micros=3 * UNIT))
    source.hold(3 * UNIT)
    source.open(START)
    for hour in range(1, 6):
        source.run(at(hours=hour - 1), at(hours=hour) - timedelta(seconds=60))
        source.prove(at(hours=hour))
        settle(at(hours=hour))
        assert wallet(rich).held_micros <= 4 * UNIT
    assert_sound(at(hours=6))


def test_what_is_left_of_a_hold_is_used_up_before_it_stops(alice: User, hana: User) -> None:
    """3.00 in all, at most 3.00 an hour, really 1.00: it runs close to three hours, and never beyond its money."""
    grant(alice, 3 * UNIT)
    source = Source(alice, hana, tariff=Tariff(UNIT, most_micros=3 * UNIT))
    source.hold(3 * UNIT)
    source.open(START)
    moment = START
    while source.meter.funded_until > moment:
        moment += timedelta(seconds=15)
        source.prove(moment)
        extend_holds(now=moment)
        settle(moment)
    assert at(hours=2, minutes=57) < moment <= at(hours=3)
    end(source, hours=4)
    assert 0 <= wallet(alice).balance_micros < 50_000
    assert_sound(at(hours=4))


def test_fault_066_a_prepaid_term_is_paid_out_of_escrow(rich: User, hana: User) -> None:
    term = Source(rich, hana, rate=UNIT)
    renter, escrow = wallet(rich), open_wallet(owner_id=None, kind="escrow")
    with time_machine.travel(START, tick=False), use_case():
        moved = [Movement(renter.pk, Entry.Kind.PREPAID, -10 * UNIT), Movement(escrow.pk, Entry.Kind.PREPAID, 10 * UNIT)]
        post(
            key="prepaid", kind=Posting.Kind.TERM, source_kind=TERM_SOURCE, source_id=term.key, memo="term", actor="test",
            movements=moved, at=START,
        )  # fmt: skip
        source: dict[str, Any] = {"source_kind": TERM_SOURCE, "source_id": term.key}
        scope = Scope("reserved", "rtx-4090")
        hold_funds(owner_id=rich.pk, amount_micros=10 * UNIT, **source, scope=scope, from_escrow=True)
        open_meter(
            **source, payer_id=rich.pk, payee_id=hana.pk, label="term", tariff=Tariff(UNIT), at=START, calendar=True,
            from_escrow=True,
        )  # fmt: skip
    assert term.meter.funded_until == at(hours=10)
    assert (term.meter.mode, term.meter.gpu_model) == ("reserved", "rtx-4090")
    assert extend_holds(now=at(hours=9, minutes=59)) == 0
    assert settle(at(hours=12)) == 10
    with time_machine.travel(at(hours=12), tick=False), use_case():
        close_meter(source_kind=TERM_SOURCE, source_id=term.key)
    assert Wallet.objects.get(kind="escrow").balance_micros == 0
    assert wallet(hana, "host").balance_micros == 9 * UNIT
    assert wallet(rich).balance_micros == 990 * UNIT
    assert_sound(at(hours=13))


def test_selectors_tell_kinds_modes_and_days_apart(rich: User, hana: User) -> None:
    gpu = Source(rich, hana)
    gpu.start()
    disk: dict[str, Any] = {"source_kind": DISK_SOURCE, "source_id": gpu.key}
    with use_case():
        hold_funds(owner_id=rich.pk, amount_micros=UNIT, **disk, scope=Scope("hourly"))
        tariff = Tariff(2_400_000, hours=24)
        open_meter(**disk, payer_id=rich.pk, payee_id=hana.pk, label="disk", tariff=tariff, at=START, calendar=True)
    gpu.run(START, at(hours=16))
    settle(at(hours=16))
    cost = costs_of(source_kind=(INSTANCE_SOURCE, DISK_SOURCE), source_ids=[gpu.key], now=at(hours=16))[gpu.key]
    assert cost.parts == {INSTANCE_SOURCE: 16 * RATE, DISK_SOURCE: 1_600_000}
    assert (cost.total_micros, cost.seconds, cost.rate_micros_per_hour) == (16 * RATE + 1_600_000, 57_600, RATE + 100_000)
    lines = usage_lines(owner_id=rich.pk, source=(DISK_SOURCE, gpu.key))
    assert (len(lines), {line.hours for line in lines}, lines[0].period_from) == (16, {24}, START)
    assert usage_lines(owner_id=hana.pk, kind="host", source=(DISK_SOURCE, gpu.key))[0].share_micros == 90_000
    assert len(usage_lines(owner_id=rich.pk, since=at(hours=15))) == 2
    assert len(statement_lines(owner_id=rich.pk, source=gpu.key)) == 32
    assert len(statement_lines(owner_id=rich.pk, source=(DISK_SOURCE, gpu.key), limit=4)) == 4
    spend = {by: spend_by(owner_id=rich.pk, since=START, until=at(hours=99), by=by) for by in ("day", "mode", "source")}
    assert {sum(each.micros for each in found) for found in spend.values()} == {16 * RATE + 1_600_000}
    assert [each.key for each in spend["day"]] == ["2025-03-01", "2025-03-02"]
    assert {each.key: each.micros for each in spend["mode"]} == {"": 16 * RATE, "storage": 1_600_000}


def test_a_statement_is_walked_in_pages_that_do_not_move(rich: User, hana: User) -> None:
    sources = [Source(rich, hana).start() for _ in range(3)]
    for source in sources:
        source.run(START, at(hours=4))
    settle(at(hours=4))
    whole = statement_lines(owner_id=rich.pk)
    assert len(whole) == 13
    walked, cursor = [], ""
    while page := statement_lines(owner_id=rich.pk, limit=2, cursor=cursor):
        walked += page
        cursor = page[-1].id
        grant(rich, 1)  # what is posted meanwhile stands before the first page
    assert [line.id for line in walked] == [line.id for line in whole]
    balance = 0
    for line in reversed(whole):
        balance += line.amount_micros
        assert line.balance_after_micros == balance
    host = statement_lines(owner_id=hana.pk, kind="host")
    assert host[0].balance_after_micros == wallet(hana, "host").balance_micros == sum(line.amount_micros for line in host)
    assert {(line.charge_micros, line.fee_micros) for line in host} == {(RATE, RATE // 10)}
    for wrong in ("x", "1-", "-1", "9" * 30, "1-2-3"):
        with pytest.raises(InvalidInput):
            statement_lines(owner_id=rich.pk, cursor=wrong)
