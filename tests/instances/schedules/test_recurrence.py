"""The reckoning of a week in a time zone: against a plain walk through the minutes, and on the days of clock changes."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from instances.schedules.recurrence import Entry, is_zone, last_until, next_after

ZONES = ("UTC", "Asia/Shanghai", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata")
ENTRIES = st.lists(
    st.builds(
        Entry,
        st.sampled_from(["start", "stop"]),
        st.sets(st.integers(0, 6), min_size=1).map(lambda days: tuple(sorted(days))),
        st.times(max_value=time(23, 59)).map(lambda at: at.replace(second=0, microsecond=0)),
    ),
    min_size=1,
    max_size=3,
)
MOMENTS = st.datetimes(datetime(2025, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  (the zone is given)


def berlin(*fields: int) -> datetime:
    return datetime(*fields, tzinfo=ZoneInfo("Europe/Berlin")).astimezone(UTC)  # type: ignore[arg-type, misc]  # numbers of a date


@given(ENTRIES, st.sampled_from(ZONES), MOMENTS)
@settings(max_examples=150)
def test_each_next_one_lies_ahead_within_a_week_and_reads_as_it_was_asked_for(
    entries: list[Entry], zone: str, after: datetime
) -> None:
    found = next_after(entries, zone, after)
    assert found is not None
    assert after < found.at <= after + timedelta(days=7, hours=2)
    local = found.at.astimezone(ZoneInfo(zone))
    times = {(day, entry.at) for entry in entries if entry.action == found.action for day in entry.days}
    shown = {(local.weekday(), local.time())}
    hour_earlier = local.replace(tzinfo=None) - timedelta(hours=1)
    half = local.replace(tzinfo=None) - timedelta(minutes=30)  # Lord Howe's clocks move by half an hour
    assert times & (shown | {(hour_earlier.weekday(), hour_earlier.time()), (half.weekday(), half.time())})
    assert next_after(entries, zone, found.at - timedelta(microseconds=1)) == found, "nothing was passed over"
    last = last_until(entries, zone, after=found.at - timedelta(microseconds=1), until=found.at)
    assert last is not None
    assert last.at == found.at


def test_fault_069_the_clocks_are_put_forward_and_back() -> None:
    """2026-03-29 has no 02:30 in Berlin, 2026-10-25 has two of them."""
    night = [Entry("stop", (6,), time(2, 30))]
    spring, autumn = berlin(2026, 3, 28, 12), berlin(2026, 10, 24, 12)
    forward, back = next_after(night, "Europe/Berlin", spring), next_after(night, "Europe/Berlin", autumn)
    assert forward is not None
    assert back is not None
    assert forward.at == datetime(2026, 3, 29, 1, 30, tzinfo=UTC), "an hour later that day, once"
    assert back.at == datetime(2026, 10, 25, 0, 30, tzinfo=UTC), "the first of the two"
    again = next_after(night, "Europe/Berlin", back.at)
    assert again is not None
    assert again.at == datetime(2026, 11, 1, 1, 30, tzinfo=UTC)
    working = [Entry("start", (0, 1, 2, 3, 4), time(9))]
    monday = next_after(working, "Europe/Berlin", berlin(2026, 3, 27, 10))
    assert monday is not None
    assert monday.at == datetime(2026, 3, 30, 7, tzinfo=UTC), "still nine o'clock after the change"


def test_only_what_came_last_counts_and_nothing_of_nothing() -> None:
    entries = [Entry("start", (0,), time(8)), Entry("stop", (0,), time(18))]
    since = datetime(2026, 3, 2, 0, tzinfo=UTC)
    last = last_until(entries, "UTC", after=since, until=since + timedelta(hours=20))
    assert last is not None
    assert (last.action, last.at.hour) == ("stop", 18)
    assert last_until(entries, "UTC", after=since + timedelta(hours=19), until=since + timedelta(hours=20)) is None
    assert next_after([], "UTC", since) is None
    assert is_zone("Asia/Shanghai")
    assert not is_zone("Mars/Olympus")
