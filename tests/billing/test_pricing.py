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

from billing.policy import FUNDED_AT_MOST
from billing.pricing import (
    MICROSECONDS_PER_HOUR,
    charge,
    chargeable_until,
    cumulative_micros,
    elapsed_microseconds,
    funded_span,
    hold_for,
    split_charge,
    split_fee,
)
from common.money import format_money

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
CUTS_IN_ALL = 100_000
YEAR_US = 8_760 * MICROSECONDS_PER_HOUR


def exact(rate: int, microseconds: int) -> int:
    """Round half up, by fractions: independent of the code under test."""
    return floor(Fraction(rate * microseconds, MICROSECONDS_PER_HOUR) + Fraction(1, 2))


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
    rate = rng.choice([0, 1, 7, rng.randrange(10**9), rng.randrange(5 * 10**6)])
    fee_bps = rng.choice([0, 1, 1000, 9_999, 10_000, rng.randrange(10_001)])
    end = rng.choice([rng.randrange(1, 10), rng.randrange(1, YEAR_US), rng.randrange(1, MICROSECONDS_PER_HOUR)])
    cuts = sorted({0, end, *(rng.randrange(end) for _ in range(rng.randrange(1, 90)))})
    pieces = list(pairwise(cuts))
    rng.shuffle(pieces)
    charges = [charge(rate, a, b) for a, b in pieces]
    splits = [split_charge(rate, fee_bps, a, b) for a, b in pieces]
    assert sum(charges) == exact(rate, end)
    assert sum(fee for fee, _ in splits) == split_fee(exact(rate, end), fee_bps)[0]
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
    assert format_money(cumulative_micros(rate, hours * MICROSECONDS_PER_HOUR)) == total


def test_the_split_adds_up_and_rounds_half_up() -> None:
    assert split_fee(3_060_000, 1000) == (306_000, 2_754_000)
    assert split_fee(5, 1000) == (1, 4)
    assert split_fee(4, 1000) == (0, 4)


def test_a_hold_covers_every_second_it_funds_and_hardly_more() -> None:
    rng = random.Random(7)
    for _ in range(20_000):
        rate = rng.choice([1, 2, rng.randrange(1, 10**9), rng.randrange(1, 1000)])
        held = rng.choice([0, 1, rng.randrange(10**9), hold_for(rate)])
        span = funded_span(held, rate)
        cost = cumulative_micros(rate, span // timedelta(microseconds=1))
        assert cost <= held
        if span < FUNDED_AT_MOST:
            assert cumulative_micros(rate, span // timedelta(microseconds=1) + 1) >= held
        else:
            assert span == FUNDED_AT_MOST


def test_an_hour_is_funded_exactly_and_a_free_one_for_good() -> None:
    assert funded_span(hold_for(3_060_001), 3_060_001) == timedelta(hours=1)
    assert funded_span(0, 0) == FUNDED_AT_MOST


def test_renewing_by_an_hour_costs_exactly_the_rate_wherever_it_begins() -> None:
    rng = random.Random(11)
    for _ in range(2_000):
        rate, begin = rng.randrange(10**9), rng.randrange(YEAR_US)
        assert charge(rate, begin, begin + MICROSECONDS_PER_HOUR) == rate


def test_chargeable_is_the_least_of_proof_funds_and_cap_but_never_before_the_opening() -> None:
    one, two, three = (EPOCH + timedelta(hours=n) for n in (1, 2, 3))
    assert chargeable_until(opened_at=EPOCH, proven_until=two, funded_until=one) == one
    assert chargeable_until(opened_at=EPOCH, proven_until=one, funded_until=two) == one
    assert chargeable_until(opened_at=EPOCH, proven_until=two, funded_until=three, capped_at=one) == one
    assert chargeable_until(opened_at=two, proven_until=three, funded_until=three, capped_at=one) == two


@pytest.mark.django_db
def test_sql_and_python_agree_to_the_micro_unit() -> None:
    rng = random.Random(13)
    asked = [
        (
            rng.choice([0, 1, rng.randrange(10**12)]),
            EPOCH + timedelta(microseconds=rng.randrange(YEAR_US)),
            timedelta(microseconds=rng.randrange(YEAR_US)),
            rng.randrange(10_001),
        )
        for _ in range(3_000)
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT billing_elapsed_us(a, b), billing_cumulative(rate, a, b), billing_fee(rate, bps)"
            " FROM unnest(%s::bigint[], %s::timestamptz[], %s::timestamptz[], %s::int[])"
            " WITH ORDINALITY AS asked (rate, a, b, bps, n) ORDER BY n",
            [
                [row[0] for row in asked],
                [row[1] for row in asked],
                [row[1] + row[2] for row in asked],
                [row[3] for row in asked],
            ],
        )
        answers = cursor.fetchall()
    for (rate, begin, span, bps), answer in zip(asked, answers, strict=True):
        elapsed = elapsed_microseconds(begin, begin + span)
        assert answer == (elapsed, cumulative_micros(rate, elapsed), split_fee(rate, bps)[0])
