"""The price history against a plain walk over every minute that matters."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
import time_machine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import User
from common.errors import NotFound
from marketplace.models import Offer, OfferPrice
from marketplace.pricing.selectors import daily_prices, price_history
from marketplace.web.pricing.charts import price_chart
from tests.marketplace.shapes import PRICE

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)


def rewrite(offer: Offer, points: list[tuple[datetime, int, int | None]]) -> None:
    OfferPrice.objects.filter(offer=offer).delete()
    for at, price, floor in points:
        OfferPrice.objects.create(offer=offer, at=at, price_micros=price, spot_floor_micros=floor)


def test_days_carry_the_price_of_the_evening_before(offer: Offer) -> None:
    rewrite(
        offer,
        [
            (NOW - timedelta(days=400), 5, None),
            (NOW - timedelta(days=100), 7, None),
            (NOW - timedelta(days=1, hours=1), 9, 2),
            (NOW - timedelta(days=1), 6, None),
        ],
    )
    with time_machine.travel(NOW, tick=False):
        days = daily_prices(offer.pk, days=3)
        changes = price_history(offer.pk, days=3)
        assert len(daily_prices(offer.pk)) == 90
    assert [(day.day.day, day.low_micros, day.high_micros, day.last_micros) for day in days] == [
        (8, 7, 7, 7),
        (9, 6, 9, 6),
        (10, 6, 6, 6),
    ]
    assert [(point.price_micros, point.spot_floor_micros) for point in changes] == [(7, None), (9, 2), (6, None)]


def test_days_before_the_first_price_are_left_out(offer: Offer) -> None:
    rewrite(offer, [(NOW - timedelta(days=1), 5, None)])
    with time_machine.travel(NOW, tick=False):
        assert [day.day.day for day in daily_prices(offer.pk)] == [9, 10]
    rewrite(offer, [])
    with time_machine.travel(NOW, tick=False):
        assert (daily_prices(offer.pk), price_history(offer.pk), price_chart(offer.pk)) == ([], [], None)


def test_an_offer_that_is_none(db: None) -> None:
    for read in (daily_prices, price_history):
        with pytest.raises(NotFound):
            read(uuid4())


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.integers(0, 12 * 24 * 60), st.integers(1, 20)), max_size=25), st.integers(1, 12))
def test_against_a_walk(offer: Offer, changes: list[tuple[int, int]], days: int) -> None:
    points = [(NOW - timedelta(minutes=ago), price) for ago, price in sorted(changes, reverse=True)]
    rewrite(offer, [(at, price, None) for at, price in points])
    midnight = NOW.replace(hour=0, minute=0)
    wanted = []
    for number in reversed(range(days)):
        start = midnight - timedelta(days=number)
        before = [price for at, price in points if at < start]
        within = [price for at, price in points if start <= at < start + timedelta(days=1)]
        known = before[-1:] + within
        if known:
            wanted.append((start.date(), min(known), max(known), known[-1]))
    with time_machine.travel(NOW, tick=False):
        found = daily_prices(offer.pk, days=days)
    assert [(day.day, day.low_micros, day.high_micros, day.last_micros) for day in found] == wanted


def test_the_chart_steps(hana: User, offer: Offer) -> None:
    rewrite(offer, [(NOW - timedelta(days=10), 2_000_000, None), (NOW - timedelta(days=5), 1_000_000, 500_000)])
    with time_machine.travel(NOW, tick=False):
        chart = price_chart(offer.pk)
    assert chart is not None
    assert (chart.low_micros, chart.high_micros, chart.now_micros, chart.changes) == (1_000_000, 2_000_000, 1_000_000, 1)
    xs = [float(point.split(",")[0]) for point in chart.line.split()]
    ys = [float(point.split(",")[1]) for point in chart.line.split()]
    assert xs == [0, 500, 500, 1000]
    assert ys[0] == ys[1] < ys[2] == ys[3]  # up is small
    assert chart.spot_line.startswith("500,")
    assert all(chart.ticks[n].value < chart.ticks[n + 1].value for n in range(len(chart.ticks) - 1))


def test_an_offer_that_was_priced_just_now(offer: Offer) -> None:
    chart = price_chart(offer.pk)
    assert chart is not None
    assert (chart.changes, chart.now_micros) == (0, PRICE)
