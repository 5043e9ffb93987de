"""The formula: every constant at its edge, in time and in runs, and the worked example of docs/reliability.md."""

import random
import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from marketplace.reliability import scoring as formula
from marketplace.reliability.scoring import AnnouncedMaintenance, History, compute_reliability, merged, overlap, window_end

UNTIL = datetime(2025, 6, 1, 12, 0, tzinfo=UTC)
LONG_AGO = UNTIL - timedelta(days=400)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
GUIDE = Path(__file__).resolve().parents[3] / "docs" / "reliability.md"


def before(**span: float) -> datetime:
    return UNTIL - timedelta(**span)


def score(**changes: object) -> int | None:
    return compute_reliability(History(**{"enrolled_at": LONG_AGO, **changes}), UNTIL).score_ppm  # type: ignore[arg-type]


def notice(
    start: datetime, end: datetime, ahead: timedelta = DAY, cancelled_at: datetime | None = None
) -> AnnouncedMaintenance:
    return AnnouncedMaintenance(start - ahead, start, end, cancelled_at)


def test_the_window_ends_at_the_last_full_five_minutes() -> None:
    assert window_end(UNTIL) == UNTIL
    assert window_end(UNTIL + timedelta(minutes=4, seconds=59.999999)) == UNTIL
    assert window_end(UNTIL + timedelta(minutes=5)) == UNTIL + timedelta(minutes=5)


def test_a_host_without_a_fault_is_perfect_after_a_week_and_not_before() -> None:
    assert score() == 1_000_000
    assert score(enrolled_at=before(days=7)) == 1_000_000
    assert score(enrolled_at=before(days=3.5)) == 975_000
    assert score(enrolled_at=before(days=1)) == (950_000 * 6 + 1_000_000) // 7 // 100 * 100
    assert score(enrolled_at=before(hours=23, minutes=59)) is None
    assert score(enrolled_at=UNTIL + DAY) is None


def test_time_without_a_report_is_taken_off() -> None:
    assert score(outages=[(before(days=3), before(days=2))]) == 29 * 1_000_000 // 30 // 100 * 100
    assert score(outages=[(before(days=15), None)]) == 500_000
    assert score(outages=[(before(days=45), before(days=29))]) == score(outages=[(before(days=30), before(days=29))])
    assert score(outages=[(before(days=45), before(days=30))]) == 1_000_000
    assert score(outages=[(UNTIL - DAY, UNTIL + DAY)]) == score(outages=[(UNTIL - DAY, None)])
    assert score(outages=[(LONG_AGO, None)]) == 0
    twice = [(before(days=3), before(days=1)), (before(days=2), before(days=1))]
    assert score(outages=twice) == score(outages=twice[:1])


def test_failed_starts_and_broken_runs_weigh_against_good_starts() -> None:
    assert score(starts=0, failed_starts=[before(days=1)]) == 10 * 1_000_000 // 11 // 100 * 100
    assert score(starts=90, failed_starts=[before(days=1)]) == 100 * 1_000_000 // 101 // 100 * 100
    assert score(starts=90, host_faults=[before(days=1)]) == 100 * 1_000_000 // 103 // 100 * 100
    moments = [before(days=30), before(days=30, microseconds=1), UNTIL, UNTIL - timedelta(microseconds=1)]
    assert compute_reliability(History(LONG_AGO, failed_starts=moments, host_faults=moments), UNTIL).failed_starts == 2
    assert compute_reliability(History(LONG_AGO, failed_starts=moments, host_faults=moments), UNTIL).host_faults == 2


def test_announced_maintenance_is_left_out_exactly_for_the_overlap() -> None:
    start, end = before(days=10), before(days=10) + 12 * HOUR
    outage = (start - HOUR, end + 2 * HOUR)
    found = compute_reliability(History(LONG_AGO, outages=[outage], maintenance=[notice(start, end)]), UNTIL)
    assert (found.excluded, found.outage, found.observed) == (12 * HOUR, 3 * HOUR, 30 * DAY - 12 * HOUR)
    assert found.score_ppm == (found.observed - 3 * HOUR) * 1_000_000 // found.observed // 100 * 100
    moments = [start - timedelta(microseconds=1), start, end - timedelta(microseconds=1), end]
    found = compute_reliability(
        History(LONG_AGO, failed_starts=moments, host_faults=moments, maintenance=[notice(start, end)]), UNTIL
    )
    assert (found.failed_starts, found.host_faults) == (2, 2)


def test_announced_too_late_or_called_off_it_excuses_nothing_and_ended_early_only_so_far() -> None:
    start, end = before(days=10), before(days=10) + 12 * HOUR
    outage = [(start, end)]
    plain = score(outages=outage)
    assert score(outages=outage, maintenance=[notice(start, end)]) == 1_000_000
    assert score(outages=outage, maintenance=[notice(start, end, DAY - timedelta(microseconds=1))]) == plain
    assert score(outages=outage, maintenance=[notice(start, end, cancelled_at=start)]) == plain
    early = compute_reliability(
        History(LONG_AGO, outages=outage, maintenance=[notice(start, end, cancelled_at=start + HOUR)]), UNTIL
    )
    assert (early.excluded, early.outage) == (HOUR, 11 * HOUR)


def test_overlapping_spans_count_once() -> None:
    one, two = (before(days=5), before(days=3)), (before(days=4), before(days=2))
    assert merged([two, one, (UNTIL, UNTIL)]) == [(before(days=5), before(days=2))]
    assert overlap(merged([one, two]), [(before(days=4), UNTIL)]) == 2 * DAY


@pytest.mark.parametrize("seed", range(200))
def test_against_an_oracle_that_counts_minutes(seed: int) -> None:
    """Random histories on whole minutes, reckoned minute by minute in fractions."""
    rng = random.Random(seed)
    width = 31 * 1440
    enrolled = rng.choice([-rng.randrange(0, 50_000), -rng.randrange(0, 9 * 1440)])
    spans = [_span(rng, width) for _ in range(rng.randrange(6))]
    windows = [(*_span(rng, width, 800), rng.choice([1440, 1439])) for _ in range(rng.randrange(4))]
    failed, faults = ([-rng.randrange(0, width) for _ in range(rng.randrange(5))] for _ in range(2))
    starts = rng.randrange(0, 50)
    found = compute_reliability(
        History(
            _at(enrolled),
            starts,
            [(_at(a), _at(b)) for a, b in spans],
            [_at(m) for m in failed],
            [_at(m) for m in faults],
            [notice(_at(a), _at(b), timedelta(minutes=ahead)) for a, b, ahead in windows],
        ),
        UNTIL,
    )
    begin = max(-30 * 1440, enrolled)
    off = {minute for a, b, ahead in windows if ahead >= 1440 for minute in range(a, b)}
    down = {minute for a, b in spans for minute in range(a, b)}
    observed = [minute for minute in range(begin, 0) if minute not in off]
    up = sum(minute not in down for minute in observed)
    one, three = (sum(begin <= minute < 0 and minute not in off for minute in moments) for moments in (failed, faults))
    if len(observed) < 1440:
        assert found.score_ppm is None
        return
    missing = max(0, 7 * 1440 - len(observed))
    exact = (
        (up + Fraction(95, 100) * missing) / (len(observed) + missing) * Fraction(10 + starts, 10 + starts + one + 3 * three)
    )
    assert found.score_ppm == int(exact * 10_000) * 100


def _at(minute: int) -> datetime:
    return UNTIL + timedelta(minutes=minute)


def _span(rng: random.Random, width: int, longest: int = 4000) -> tuple[int, int]:
    start = -rng.randrange(1, width)
    return start, start + rng.randrange(1, longest)


def test_the_guide_names_every_constant_as_it_is() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    named = dict(re.findall(r"^\| `([A-Z_]+)` \| ([^|]+) \|", text, re.MULTILINE))
    assert {name: value.strip() for name, value in named.items()} == {
        "FORMULA_VERSION": str(formula.FORMULA_VERSION),
        "WINDOW": f"{formula.WINDOW.days} days",
        "STEP": f"{formula.STEP // timedelta(minutes=1)} minutes",
        "MIN_OBSERVED": f"{formula.MIN_OBSERVED // HOUR} hours",
        "PRESUMED": f"{formula.PRESUMED.days} days",
        "PRESUMED_PPM": f"{formula.PRESUMED_PPM:,}".replace(",", " "),
        "PRESUMED_STARTS": str(formula.PRESUMED_STARTS),
        "FAILED_START_WEIGHT": str(formula.FAILED_START_WEIGHT),
        "HOST_FAULT_WEIGHT": str(formula.HOST_FAULT_WEIGHT),
        "NOTICE": f"{formula.NOTICE // HOUR} hours",
        "GRAIN_PPM": str(formula.GRAIN_PPM),
    }


def test_the_guides_example_is_what_the_formula_gives() -> None:
    """The example's own figures, read from its table."""
    text = GUIDE.read_text(encoding="utf-8")
    found = compute_reliability(
        History(
            enrolled_at=datetime(2025, 1, 15, tzinfo=UTC),
            starts=40,
            outages=[
                (datetime(2025, 5, 10, 1, 30, tzinfo=UTC), datetime(2025, 5, 10, 8, 0, tzinfo=UTC)),
                (datetime(2025, 5, 20, 14, 0, tzinfo=UTC), datetime(2025, 5, 20, 15, 30, tzinfo=UTC)),
            ],
            failed_starts=[datetime(2025, 5, 12, 9, 0, tzinfo=UTC)],
            host_faults=[datetime(2025, 5, 22, 18, 0, tzinfo=UTC)],
            maintenance=[
                AnnouncedMaintenance(
                    datetime(2025, 5, 8, 20, 0, tzinfo=UTC),
                    datetime(2025, 5, 10, 2, 0, tzinfo=UTC),
                    datetime(2025, 5, 10, 7, 0, tzinfo=UTC),
                )
            ],
        ),
        UNTIL,
    )
    assert (found.observed, found.excluded, found.outage) == (715 * HOUR, 5 * HOUR, 3 * HOUR)
    assert (found.good, found.bad, found.score_ppm) == (50, 4, 922_000)
    for figure in ("720 h − 5 h = 715 h", "715 h − 3 h = 712 h", "712 / 715", "50 / 54", "0.92204", "922 000", "92.20 %"):
        assert figure in text, figure
