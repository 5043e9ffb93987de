"""Spans of whole days, and what is no span."""

from datetime import date

import pytest

from common.errors import InvalidInput
from instances.earnings.periods import LONGEST_DAYS, Period, last_month, last_year, parse_period, this_month

TODAY = date(2026, 3, 15)


def test_what_is_left_out() -> None:
    assert parse_period(since=None, until=None, today=TODAY) == Period(date(2026, 2, 14), TODAY)
    assert parse_period(since=date(2026, 3, 1), until=None, today=TODAY) == Period(date(2026, 3, 1), TODAY)
    assert parse_period(since=None, until=date(2026, 1, 31), today=TODAY) == Period(date(2026, 1, 2), date(2026, 1, 31))
    assert parse_period(since=date(2027, 1, 1), until=None, today=TODAY) == Period(date(2027, 1, 1), date(2027, 1, 1))


@pytest.mark.parametrize(("since", "until"), [(date(2026, 3, 2), date(2026, 3, 1)), (date(2025, 1, 1), date(2026, 3, 1))])
def test_no_span(since: date, until: date) -> None:
    with pytest.raises(InvalidInput):
        parse_period(since=since, until=until, today=TODAY)


def test_quick_ones() -> None:
    assert this_month(TODAY) == Period(date(2026, 3, 1), TODAY)
    assert last_month(TODAY) == Period(date(2026, 2, 1), date(2026, 2, 28))
    assert last_year(TODAY) == Period(date(2025, 4, 1), TODAY)
    assert (last_year(date(2024, 12, 31)).until - last_year(date(2024, 12, 31)).since).days < LONGEST_DAYS
