"""Reliability score of a host: the published formula (docs/reliability.md), pure and in integers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

FORMULA_VERSION: Final = 1

WINDOW: Final = timedelta(days=30)
"""Events that are longer ago do not count."""

STEP: Final = timedelta(minutes=5)
"""The window ends at the last full step, so that everyone who recomputes it uses the same moment."""

MIN_OBSERVED: Final = timedelta(hours=24)
"""A host that has been observed for less has no score yet."""

PRESUMED: Final = timedelta(days=7)
PRESUMED_PPM: Final = 950_000
"""Time missing to the first 7 observed days counts as 95 % available."""

PRESUMED_STARTS: Final = 10
"""Successful starts that every host is credited with, so that one failure is not all that is known."""

FAILED_START_WEIGHT: Final = 1
HOST_FAULT_WEIGHT: Final = 3
"""A fault that ends a running instance counts as much as three failed starts."""

NOTICE: Final = timedelta(hours=24)
"""Maintenance announced later than this before its beginning excuses nothing."""

GRAIN_PPM: Final = 100
"""The score is rounded down to hundredths of a percent."""

_PPM: Final = 1_000_000
_MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Span = tuple[datetime, datetime]
"""Start and end of a half-open period."""


@dataclass(frozen=True)
class AnnouncedMaintenance:
    """Announced maintenance."""

    announced_at: datetime
    starts_at: datetime
    ends_at: datetime
    cancelled_at: datetime | None = None

    @property
    def excuses(self) -> Span | None:
        """Return the period in which nothing counts against the host.

        None when it was announced too late or cancelled before.
        """
        end = self.ends_at if self.cancelled_at is None else min(self.ends_at, self.cancelled_at)
        if end <= self.starts_at or self.starts_at - self.announced_at < NOTICE:
            return None
        return self.starts_at, end


@dataclass(frozen=True)
class History:
    """A host's ledger as far as it overlaps the window; `starts` counts those within it."""

    enrolled_at: datetime
    starts: int = 0
    outages: Sequence[tuple[datetime, datetime | None]] = ()
    failed_starts: Sequence[datetime] = ()
    host_faults: Sequence[datetime] = ()
    maintenance: Sequence[AnnouncedMaintenance] = ()


@dataclass(frozen=True)
class ReliabilityResult:
    """All inputs of the score, and the score."""

    window: Span
    observed: timedelta
    excluded: timedelta
    outage: timedelta
    starts: int
    failed_starts: int
    host_faults: int

    @property
    def missing(self) -> timedelta:
        """Return the time that is presumed, since it has not been observed yet."""
        return max(timedelta(0), PRESUMED - self.observed)

    @property
    def good(self) -> int:
        return PRESUMED_STARTS + self.starts

    @property
    def bad(self) -> int:
        return FAILED_START_WEIGHT * self.failed_starts + HOST_FAULT_WEIGHT * self.host_faults

    @property
    def time_ppm(self) -> int:
        """Return the share of time, rounded down; for display, since the score itself is rounded once."""
        return ((self.observed - self.outage) * _PPM + self.missing * PRESUMED_PPM) // (self.observed + self.missing)

    @property
    def runs_ppm(self) -> int:
        """Return the share of runs, rounded down."""
        return self.good * _PPM // (self.good + self.bad)

    @property
    def score_ppm(self) -> int | None:
        """Return share of time × share of runs, in millionths, rounded down once.

        None while too little is known.
        """
        if self.observed < MIN_OBSERVED:
            return None
        part = (self.observed - self.outage) // _MICROSECOND * _PPM + self.missing // _MICROSECOND * PRESUMED_PPM
        whole = (self.observed + self.missing) // _MICROSECOND
        return part * self.good // (whole * (self.good + self.bad)) // GRAIN_PPM * GRAIN_PPM


def window_end(now: datetime) -> datetime:
    """Return the last full step before `now`, counted from 1970."""
    return now - (now - _EPOCH) % STEP


def compute_reliability(history: History, until: datetime) -> ReliabilityResult:
    """Return the host's reliability over the window that ends at `until`."""
    begin = max(until - WINDOW, history.enrolled_at)
    window = (begin, max(begin, until))
    excused = excused_spans(history.maintenance)
    length, excluded = window[1] - window[0], overlap([window], excused)
    down = merged(clipped((start, end or until), window) for start, end in history.outages)
    outage = overlap(down, [window]) - overlap(down, excused)
    failed, faults = (
        sum(window[0] <= at < window[1] and not inside(at, excused) for at in moments)
        for moments in (history.failed_starts, history.host_faults)
    )
    return ReliabilityResult(window, length - excluded, excluded, outage, history.starts, failed, faults)


def excused_spans(notices: Iterable[AnnouncedMaintenance]) -> list[Span]:
    """Return the periods of all maintenance that excuses, without overlaps, in order."""
    return merged(span for notice in notices if (span := notice.excuses) is not None)


def merged(spans: Iterable[Span]) -> list[Span]:
    """Return the same time as periods that neither touch nor overlap, in order."""
    found: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def clipped(span: Span, window: Span) -> Span:
    return max(span[0], window[0]), min(span[1], window[1])


def overlap(some: Iterable[Span], others: Sequence[Span]) -> timedelta:
    """Return how much time is in both; neither side may overlap itself."""
    nothing = timedelta(0)
    both = (clipped(one, other) for one in some for other in others)
    return sum((max(nothing, end - start) for start, end in both), nothing)


def inside(at: datetime, spans: Iterable[Span]) -> bool:
    return any(start <= at < end for start, end in spans)
