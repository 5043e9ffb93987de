"""Report of a wallet's spending within some days, with chart bars: by day, mode or source."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Literal
from uuid import UUID

from billing.metering.spending_selectors import Spend, spend_by
from common.errors import FieldError, InvalidInput

DAYS_AT_FIRST = 30
DAYS_AT_MOST = 731

By = Literal["day", "mode", "source"]


@dataclass(frozen=True)
class DayBar:
    """Column of one day, in thousandths of the chart; `below` where refunds exceed spending."""

    day: date
    micros: int
    x: float
    width: float
    y: float
    height: float


@dataclass(frozen=True)
class GridLine:
    """Grid line: the amount, and its position as a percentage of the chart's height."""

    micros: int
    place: str


@dataclass(frozen=True)
class Spending:
    """Spending report; rows of days are in order, all others from the highest amount down."""

    since: date
    until: date  # the last day
    by: By
    rows: list[Spend]
    days: list[DayBar]
    ticks: list[GridLine]

    @property
    def total_micros(self) -> int:
        return sum(row.micros for row in self.rows)

    @property
    def most_micros(self) -> int:
        return max((row.micros for row in self.rows), default=0)


def spending_report(owner_id: UUID, *, now: datetime, since: date | None, until: date | None, by: By) -> Spending:
    """Return the spending of the owner between two days (UTC), both included.

    Raises:
        InvalidInput: the range is not valid.
    """
    last = until or now.astimezone(UTC).date()
    first = since or last - timedelta(days=DAYS_AT_FIRST - 1)
    if not 0 <= (last - first).days < DAYS_AT_MOST:
        wrong = FieldError("since", "invalid", f"From one day to at most {DAYS_AT_MOST} days, the first before the last.")
        raise InvalidInput("Invalid spending request.", errors=[wrong])
    span = {"since": _midnight(first), "until": _midnight(last + timedelta(days=1))}
    days = spend_by(owner_id=owner_id, by="day", **span)
    rows = days if by == "day" else sorted(spend_by(owner_id=owner_id, by=by, **span), key=lambda row: -row.micros)
    bars, ticks = _draw(first, last, {row.key: row.micros for row in days})
    return Spending(first, last, by, rows, bars, ticks)


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _draw(first: date, last: date, spent: dict[str, int]) -> tuple[list[DayBar], list[GridLine]]:
    """Return a bar for every day of the range, spent or not, and grid lines at round amounts."""
    top = _round_up(max(spent.values(), default=0))
    if top == 0:
        return [], []
    count = (last - first).days + 1
    each = 1000 / count
    bars = []
    for place in range(count):
        day = first + timedelta(days=place)
        micros = spent.get(day.isoformat(), 0)
        height = max(0, micros) * 1000 / top
        width = max(each * 0.8, 1)
        bars.append(DayBar(day, micros, round(place * each, 2), round(width, 2), round(1000 - height, 2), round(height, 2)))
    return bars, [GridLine(top * part // 2, f"{88 - 44 * part}%") for part in (0, 1, 2)]


def _round_up(micros: int) -> int:
    """Return the smallest of 1, 2 or 5 times a power of ten that is not below the amount."""
    size = 1
    while size < micros:
        size *= 10
    return (
        next((size * tenths // 10 for tenths in (1, 2, 5, 10) if size * tenths // 10 >= micros), size) if micros > 0 else 0
    )
