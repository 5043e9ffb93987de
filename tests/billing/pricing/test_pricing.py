"""Prices: no cut changes the total, SQL and Python agree, and a hold always covers what it funds."""

import random
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from math import floor

import pytest
from django.db import connection
from hypothesis import given, settings
from hypothesis import strategies as st

from billing.constants import DEPOSIT_HOURS, FUNDED_AT_MOST
from billing.pricing.rates import (
    MICROSECONDS_PER_HOUR,
    charge,
    cost,
    deposit_of,
    early_end,
    elapsed_microseconds,
    funded_span,
    hold_for,
    hold_of,
    split_charge,
    split_fee,
    stretches,
)
from billing.pricing.tariffs import Tariff
from common.money import format_money

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
CUTS_IN_ALL = 100_000
YEAR_US = 8_760 * MICROSECONDS_PER_HOUR


def exact(tariff: Tariff, microseconds: int) -> int:
    """Stretch by stretch and rounded half up once, by fractions: independent of the code under test."""
    begins = [0, *(begin for begin, _ in tariff.steps)]
    ends = [*(begin for begin, _ in tariff.steps), None]
    rates = [tariff.rate_micros, *(rate for _, rate in tariff.steps)]
    total = Fraction()
    for begin, end, rate in zip(begins, ends, rates, strict=True):
        until = microseconds if end is None else min(end, microseconds)
        total += Fraction(rate * max(0, until - begin), tariff.hours * MICROSECONDS_PER_HOUR)
    return floor(total + Fraction(1, 2))


def any_tariff(rng: random.Random) -> Tariff:
    """Plain ones, ones for a day, with up to five steps up or down, free stretches among them."""

    def rate() -> int:
        return rng.choice([0, 1, 7, rng.randrange(10**9), rng.randrange(5 * 10**6), rng.randrange(10**12)])

    spots = sorted({rng.randrange(1, rng.choice([10, MICROSECONDS_PER_HOUR, YEAR_US])) for _ in range(rng.randrange(6))})
    steps = tuple((spot, rate()) for spot in spots) if rng.random() < 0.6 else ()
    return Tariff(rate(), rng.choice([1, 24]), steps)


def test_no_cut_changes_the_total_or_either_side() -> None:
    cuts_tried = 0

    @settings(max_examples=60, deadline=None)
    @given(st.integers(min_value=0, max_value=2**64))
    def try_cuts(seed: int) -> None:
        nonlocal cuts_tried
        rng = random.Random(seed)
        cuts_tried += sum(_cuts_tried(rng) for _ in range(60))

    try_cuts()
    assert cuts_tried >= CUTS_IN_ALL


def _cuts_tried(rng: random.Random) -> int:
    tariff, base = any_tariff(rng), rng.choice([0, rng.randrange(YEAR_US)])
    fee_bps = rng.choice([0, 1, 1000, 9_999, 10_000, rng.randrange(10_001)])
    end = rng.choice([rng.randrange(1, 10), rng.randrange(1, YEAR_US), rng.randrange(1, MICROSECONDS_PER_HOUR)])
    cuts = sorted({0, end, *(rng.randrange(end) for _ in range(rng.randrange(1, 90)))})
    pieces = list(pairwise(cuts))
    rng.shuffle(pieces)
    charges = [charge(tariff, base + a, base + b) for a, b in pieces]
    splits = [split_charge(tariff, fee_bps, (base + a, base + b)) for a, b in pieces]
    before, after = exact(tariff, base), exact(tariff, base + end)
    assert sum(charges) == after - before
    assert sum(fee for fee, _ in splits) == split_fee(after, fee_bps)[0] - split_fee(before, fee_bps)[0]
    assert all(fee + share == total for (fee, share), total in zip(splits, charges, strict=True))
    assert all(fee >= 0 and share >= 0 for fee, share in splits)
    return len(pieces)


@pytest.mark.parametrize(
    ("rate", "hours", "total"),
    [
        (3_060_000, 8_760, "26805.60"),
        (2_800_000, 720, "2016.00"),
        (1_380_000, 8_760, "12088.80"),
        (8 * 460_000, 100, "368.00"),
    ],
)
def test_worked_examples(rate: int, hours: int, total: str) -> None:
    assert format_money(cost(Tariff(rate), hours * MICROSECONDS_PER_HOUR)) == total


def test_the_split_adds_up_and_rounds_half_up() -> None:
    assert split_fee(3_060_000, 1000) == (306_000, 2_754_000)
    assert split_fee(5, 1000) == (1, 4)
    assert split_fee(4, 1000) == (0, 4)


def test_steps_and_days_by_hand() -> None:
    """Tiers of docs/pricing.md: 2.00 for the first 24 hours, then 1.50, from 72 hours on 1.00. Storage is for a day."""
    hour = MICROSECONDS_PER_HOUR
    tiered = Tariff(2_000_000, steps=((24 * hour, 1_500_000), (72 * hour, 1_000_000)))
    assert cost(tiered, 24 * hour) == 48_000_000
    assert cost(tiered, 72 * hour) == 48_000_000 + 72_000_000
    assert charge(tiered, 23 * hour, 25 * hour) == 2_000_000 + 1_500_000
    assert charge(tiered, 100 * hour, 101 * hour) == 1_000_000
    assert [tiered.rate_at(spot) for spot in (0, 24 * hour - 1, 24 * hour, 72 * hour)] == [
        2_000_000,
        2_000_000,
        1_500_000,
        10**6,
    ]
    assert list(stretches(tiered, 23 * hour, 73 * hour)) == [
        (23 * hour, 24 * hour),
        (24 * hour, 72 * hour),
        (72 * hour, 73 * hour),
    ]
    disk = Tariff(3_600_000, hours=24)  # 36 GB at 0.10 for a GB and day
    assert cost(disk, hour) == 150_000
    assert charge(disk, 7 * hour, 31 * hour) == 3_600_000


@pytest.mark.parametrize(
    ("charged", "in_all"),
    [
        (0, 0),
        (10_000_000, 13_125_000),  # at 2.50 instead of 2.00, and 5% more
        (10_000_001, 13_125_001),  # 13,125,001.3125, rounded half up
        (150_000_000, 196_875_000),
        (160_000_000, 200_000_000),  # 210.00 would be more than the whole term
        (200_000_000, 200_000_000),
        (200_000_001, 200_000_001),  # never less than what was charged, whatever that was
    ],
)
def test_an_early_end_costs_no_more_than_the_term_and_no_less_than_its_use(charged: int, in_all: int) -> None:
    """A term of 100 hours at 2.00, whose price without discount is 2.50."""
    assert early_end(charged, unit_micros=2_000_000, list_unit_micros=2_500_000, total_micros=200_000_000) == in_all


def test_the_early_end_of_a_free_term_is_free() -> None:
    assert early_end(0, unit_micros=0, list_unit_micros=2_500_000, total_micros=0) == 0


def test_a_deposit_is_never_more_than_the_term() -> None:
    assert deposit_of(rate_micros=1_000_000, total_micros=10_000_000_000) == DEPOSIT_HOURS * 1_000_000
    assert deposit_of(rate_micros=1_000_000, total_micros=1_000_000) == 1_000_000


def test_a_hold_covers_every_second_it_funds_and_hardly_more() -> None:
    rng = random.Random(7)
    for _ in range(20_000):
        tariff, used = any_tariff(rng), rng.choice([0, rng.randrange(YEAR_US)])
        held = rng.choice([0, 1, rng.randrange(10**9), hold_for(tariff.rate_micros)])
        span = funded_span(held, tariff, used)
        end = used + span // timedelta(microseconds=1)
        assert charge(tariff, used, end) <= held
        if span == FUNDED_AT_MOST:
            continue
        rate = tariff.rate_at(end)
        assert rate > 0, "free time needs no money"
        for_a_micro = 2 * tariff.hours * MICROSECONDS_PER_HOUR // rate + 2
        changes = any(end < begin <= end + for_a_micro for begin, _ in tariff.steps)
        assert charge(tariff, used, end + for_a_micro) > held or changes


def test_a_hold_of_a_moving_price_reckons_with_the_most_wherever_the_price_goes() -> None:
    rng = random.Random(17)
    for _ in range(5_000):
        most = rng.randrange(1, 10**7)
        agreed = Tariff(rng.randrange(most + 1), most_micros=most)
        held, used = rng.choice([hold_of(agreed), rng.randrange(10**8)]), rng.randrange(YEAR_US)
        span = funded_span(held, agreed, used) // timedelta(microseconds=1)
        moves = sorted(used + rng.randrange(span + 1) for _ in range(rng.randrange(4)))
        moved = Tariff(agreed.rate_micros, 1, tuple((spot, rng.choice([most, rng.randrange(most + 1)])) for spot in moves))
        assert charge(moved, used, used + span) <= held


def test_an_hour_is_funded_exactly_and_a_free_one_for_good() -> None:
    assert funded_span(hold_for(3_060_001), Tariff(3_060_001)) == timedelta(hours=1)
    assert funded_span(hold_of(Tariff(3_600_001, hours=24)), Tariff(3_600_001, hours=24)) >= timedelta(hours=1)
    assert hold_of(Tariff(100, most_micros=300)) == 300
    assert hold_of(Tariff(25, hours=24)) == 2, "rounded up: a hold never falls short"
    assert funded_span(0, Tariff(0)) == FUNDED_AT_MOST


def test_renewing_by_an_hour_costs_exactly_the_rate_wherever_it_begins() -> None:
    rng = random.Random(11)
    for _ in range(2_000):
        rate, begin = rng.randrange(10**9), rng.randrange(YEAR_US)
        assert charge(Tariff(rate), begin, begin + MICROSECONDS_PER_HOUR) == rate


@pytest.mark.django_db
def test_sql_and_python_agree_to_the_micro_unit() -> None:
    rng = random.Random(13)
    with connection.cursor() as cursor:
        for _ in range(3_000):
            tariff, elapsed, bps = any_tariff(rng), rng.randrange(YEAR_US), rng.randrange(10_001)
            begin = EPOCH + timedelta(microseconds=rng.randrange(YEAR_US))
            used = rng.choice([elapsed, *(begins for begins, _ in tariff.steps)])
            steps = [list(column) for column in zip(*tariff.steps, strict=True)] or [[], []]
            cursor.execute(
                "SELECT billing_elapsed_us(%(a)s, %(b)s), billing_fee(%(rate)s, %(bps)s),"
                " billing_cost(%(rate)s, %(hours)s, %(at)s::bigint[], %(rates)s::bigint[], %(used)s),"
                " billing_rate(%(rate)s, %(at)s::bigint[], %(rates)s::bigint[], %(used)s)",
                {
                    "a": begin,
                    "b": begin + timedelta(microseconds=elapsed),
                    "rate": tariff.rate_micros,
                    "bps": bps,
                    "hours": tariff.hours,
                    "at": steps[0],
                    "rates": steps[1],
                    "used": used,
                },
            )
            expected = elapsed_microseconds(begin, begin + timedelta(microseconds=elapsed))
            fee = split_fee(tariff.rate_micros, bps)[0]
            assert cursor.fetchone() == (expected, fee, exact(tariff, used), tariff.rate_at(used))
            assert cost(tariff, used) == exact(tariff, used)
