"""What renters and host owners are shown, recomputed by hand."""

from datetime import timedelta

import pytest

from accounts.models import User
from billing.ledger.selectors import WalletView, wallet_of
from billing.ledger.wallets import open_wallet
from billing.metering.costs import Cost, costs_of
from billing.models import Entry
from billing.payouts.earnings_selectors import earnings_of
from billing.statements.selectors import statement_lines
from tests.billing.money import RATE, START, UNIT, Source, at, grant, settle, wallet

pytestmark = pytest.mark.django_db


@pytest.fixture
def source(alice: User, hana: User) -> Source:
    grant(alice, 100 * UNIT)
    return Source(alice, hana)


def test_who_has_no_wallet_sees_an_empty_one(alice: User) -> None:
    assert wallet_of(owner_id=alice.pk, now=START) == WalletView()
    assert statement_lines(owner_id=alice.pk) == []
    assert earnings_of(owner_id=alice.pk).lines == ()


def test_the_live_wallet_is_posted_minus_accrued(source: Source) -> None:
    source.start()
    source.run(START, at(hours=1, seconds=100))
    settle(at(hours=1, seconds=100))
    view = wallet_of(owner_id=source.payer.pk, now=at(hours=1, seconds=100))
    assert view.balance_micros == 100 * UNIT - RATE
    assert view.accrued_micros == 85_000
    assert view.live_micros == 100 * UNIT - RATE - 85_000
    assert view.held_micros == RATE
    assert view.spendable_micros == 100 * UNIT - 2 * RATE
    assert view.burn_micros_per_hour == RATE
    assert view.runway_hours == 31.7


def test_accrued_ends_at_the_moment_asked_for_and_at_the_proof(source: Source) -> None:
    source.start()
    source.prove(at(seconds=100))
    assert wallet_of(owner_id=source.payer.pk, now=at(seconds=50)).accrued_micros == 42_500
    assert wallet_of(owner_id=source.payer.pk, now=at(seconds=5000)).accrued_micros == 85_000


def test_what_is_capped_or_closed_burns_nothing(source: Source) -> None:
    source.start()
    source.cap(at(seconds=30))
    assert wallet_of(owner_id=source.payer.pk, now=at(seconds=29)).burn_micros_per_hour == RATE
    assert wallet_of(owner_id=source.payer.pk, now=at(seconds=30)).burn_micros_per_hour == 0
    source.close()
    view = wallet_of(owner_id=source.payer.pk, now=at(seconds=20))
    assert (view.burn_micros_per_hour, view.runway_hours) == (0, None)


def test_costs_of_sources_cover_every_stretch(alice: User, hana: User) -> None:
    grant(alice, 100 * UNIT)
    first, second, never = (Source(alice, hana) for _ in range(3))
    first.start()
    first.run(START, at(hours=1, seconds=100))
    first.prove(at(hours=2))  # after a gap
    first.prove(at(hours=2, seconds=100))
    settle(at(hours=2, seconds=100))
    second.start(at(seconds=1))
    costs = costs_of(source_kind="instance", source_ids=[first.key, second.key, never.key], now=at(hours=2, seconds=60))
    assert costs[first.key] == Cost(
        settled_micros=RATE + 85_000,
        accrued_micros=51_000,
        seconds=3760,
        rate_micros_per_hour=RATE,
        next_charge_at=at(hours=3),
        funded_until=first.meter.funded_until,
        parts={"instance": RATE + 136_000},
    )
    assert costs[first.key].total_micros == RATE + 136_000
    assert costs[second.key].next_charge_at == at(hours=1, seconds=1)
    assert costs[second.key].total_micros == 0
    assert costs[never.key] == Cost()
    first.close()
    closed = costs_of(source_kind="instance", source_ids=[first.key], now=at(hours=3))[first.key]
    assert (closed.settled_micros, closed.accrued_micros) == (RATE + 170_000, 0)
    assert (closed.rate_micros_per_hour, closed.next_charge_at) == (0, None)


def test_a_statement_says_what_when_how_long_and_at_which_rate(source: Source) -> None:
    source.start()
    source.run(START, at(hours=1, seconds=100))
    settle(at(hours=1))
    source.close()
    rest, hour, credit = statement_lines(owner_id=source.payer.pk)
    assert (credit.kind, credit.what, credit.amount_micros, credit.seconds) == ("credit", "top-up", 100 * UNIT, None)
    assert credit.balance_after_micros == 100 * UNIT
    assert (hour.kind, hour.what, hour.source_kind, hour.source_id) == ("charge", "2 × RTX 4090", "instance", source.key)
    assert (hour.period_from, hour.period_to, hour.seconds) == (START, at(hours=1), 3600)
    assert (hour.rate_micros_per_hour, hour.amount_micros) == (RATE, -RATE)
    assert hour.balance_after_micros == 100 * UNIT - RATE
    assert hour.at == at(hours=1)
    assert (rest.seconds, rest.amount_micros) == (100, -85_000)
    assert rest.balance_after_micros == 100 * UNIT - RATE - 85_000 == wallet(source.payer).balance_micros
    assert rest.charge_micros is None  # a renter is not shown who gets what


def test_every_line_follows_from_its_own_columns(source: Source) -> None:
    source.start()
    source.run(START, at(hours=5, seconds=1234))
    source.close()
    balance = 0
    for line in reversed(statement_lines(owner_id=source.payer.pk)):
        balance += line.amount_micros
        assert line.balance_after_micros == balance
        if line.seconds is not None and line.rate_micros_per_hour is not None:
            assert -line.amount_micros == round(line.rate_micros_per_hour * line.seconds / 3600)


def test_a_page_in_the_middle_has_the_same_balances_as_the_whole(source: Source) -> None:
    source.start()
    source.run(START, at(hours=6))
    settle(at(hours=6))
    whole = statement_lines(owner_id=source.payer.pk)
    assert statement_lines(owner_id=source.payer.pk, cursor=whole[1].id, limit=3) == whole[2:5]
    assert statement_lines(owner_id=source.payer.pk, limit=3) == whole[:3]


def test_a_host_owner_sees_charge_fee_and_share(source: Source) -> None:
    source.start()
    source.run(START, at(hours=1, seconds=100))
    settle(at(hours=1))
    line = statement_lines(owner_id=source.payee.pk, kind="host")[0]
    assert (line.charge_micros, line.fee_micros, line.amount_micros) == (RATE, RATE // 10, RATE - RATE // 10)
    earnings = earnings_of(owner_id=source.payee.pk)
    assert (earnings.charge_micros, earnings.fee_micros, earnings.share_micros) == (RATE, 306_000, 2_754_000)
    assert earnings.balance_micros == 2_754_000
    assert earnings.accrued_micros == 76_500
    (day,) = earnings.lines
    assert (day.day, day.source_id, day.share_micros) == (at(hours=1).date(), source.key, 2_754_000)


def test_earnings_are_one_line_for_each_source_and_day(alice: User, hana: User) -> None:
    grant(alice, 1000 * UNIT)
    sources = [Source(alice, hana).start() for _ in range(2)]
    for source in sources:
        source.run(START, at(hours=20))
    for hour in range(21):
        settle(at(hours=hour))
    lines = earnings_of(owner_id=hana.pk).lines
    assert [line.day for line in lines] == [START.date() + timedelta(days=1)] * 2 + [START.date()] * 2
    assert sum(line.charge_micros for line in lines) == 40 * RATE
    assert {line.source_id for line in lines} == {source.key for source in sources}


def test_nobody_sees_the_money_of_another(source: Source, bob: User) -> None:
    source.start()
    source.prove(at(seconds=100))
    source.close()
    open_wallet(owner_id=bob.pk)
    assert statement_lines(owner_id=bob.pk) == []
    assert wallet_of(owner_id=bob.pk, now=START) == WalletView()
    assert earnings_of(owner_id=source.payer.pk).lines == ()
    assert Entry.objects.count() == 5
