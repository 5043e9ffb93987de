"""Measurement of rows: calibrated and repeated, with medians, their spread and a floor.

Some machines have phases of minutes in which the same work takes twice as long. So a sample waits, for a minute at
most, until a fixed loop is about as fast as it ever was in this checkout; a row without such a moment is marked
"slow phase".
"""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

REPEATS = 3
UNSTABLE_SPREAD = 0.30
FAST = 1.25  # times the fastest loop: up to this it is the fast phase
PATIENCE_S = 60.0  # for each sample
_LOOPS = 1_000_000
PAUSE_S = 1.0
FASTEST = Path(__file__).parents[1] / ".berth" / "bench-loop-ms"


class NotMeasurableHere(Exception):
    """This machine lacks what the row needs; the text says what."""


@dataclass(frozen=True)
class Sample:
    """One measurement of a row; `floor` is the cost of the same work without Berth, None if there is none."""

    value: float
    floor: float | None = None
    notes: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Limit:
    """Limits of a row: an absolute figure, a multiple of the floor, and maxima for its notes."""

    absolute: float | None = None
    of_floor: float | None = None
    notes: Mapping[str, float] = field(default_factory=dict)

    def met(self, value: float, floor: float | None, notes: Mapping[str, float]) -> bool:
        within = self.absolute is None or value <= self.absolute
        within = within and all(notes[name] <= most for name, most in self.notes.items())
        return within and (self.of_floor is None or floor is None or value <= self.of_floor * floor)


@dataclass(frozen=True)
class Row:
    """A benchmark: `measuring` sets it up and yields the function that measures once."""

    name: str
    unit: str
    what: str
    measuring: Callable[[], AbstractContextManager[Callable[[], Sample]]]
    limit: Limit = field(default_factory=Limit)
    repeats: int = REPEATS


@dataclass(frozen=True)
class Result:
    """Medians over the repeats.

    `spread` is (largest − smallest) ÷ median, of the ratio to the floor if there is one, else of the value.
    """

    row: Row
    value: float
    floor: float | None
    spread: float
    calibration_ms: float
    is_slow_phase: bool
    notes: dict[str, float]

    @property
    def ratio(self) -> float | None:
        return self.value / self.floor if self.floor else None

    @property
    def stable(self) -> bool:
        return self.spread <= UNSTABLE_SPREAD

    @property
    def met(self) -> bool:
        return self.row.limit.met(self.value, self.floor, self.notes)


def measure(row: Row) -> Result:
    """Measure a row.

    Raises:
        NotMeasurableHere: This machine lacks what the row needs.
    """
    with row.measuring() as once:
        calibrations, samples = [], []
        for _ in range(row.repeats):
            calibrations.append(_calibrate_when_fast())
            samples.append(once())
            calibrations.append(calibrate())
    floors = [sample.floor for sample in samples if sample.floor is not None]
    return Result(
        row=row,
        value=statistics.median(sample.value for sample in samples),
        floor=statistics.median(floors) if floors else None,
        spread=_spread([sample.value / sample.floor if sample.floor else sample.value for sample in samples]),
        calibration_ms=statistics.median(calibrations),
        is_slow_phase=statistics.median(calibrations) > FAST * _fastest(calibrations),
        notes={name: statistics.median(sample.notes[name] for sample in samples) for name in samples[0].notes},
    )


def calibrate() -> float:
    """Return the milliseconds of a fixed loop; runs are comparable only where these are about the same."""
    began = time.perf_counter()
    total = 0
    for number in range(_LOOPS):
        total += number
    return (time.perf_counter() - began) * 1_000


def _calibrate_when_fast() -> float:
    """Return the time of the loop, once it is fast or the patience ends."""
    until = time.monotonic() + PATIENCE_S
    while (took := calibrate()) > FAST * _fastest([took]) and time.monotonic() < until:
        time.sleep(PAUSE_S)
    return took


def _fastest(calibrations: Sequence[float]) -> float:
    """Return the milliseconds of the fastest loop that this checkout has seen, including these."""
    before = float(FASTEST.read_text()) if FASTEST.exists() else calibrations[0]
    fastest = min(before, *calibrations)
    FASTEST.parent.mkdir(exist_ok=True)
    FASTEST.write_text(f"{fastest:.2f}\n")
    return fastest


def line_of(result: Result) -> str:
    row = result.row
    floor = "" if result.floor is None else f"  floor {result.floor:,.2f}  ×{result.ratio:.2f}"
    notes = "".join(f"  {name} {value:,.2f}" for name, value in result.notes.items())
    phase = " (slow phase)" if result.is_slow_phase else ""
    return (
        f"{row.name:16} {result.value:10,.2f} {row.unit:9} ±{result.spread:4.0%}{floor}  {verdict(result)}\n"
        f"{'':16} {row.what};{notes}  loop {result.calibration_ms:.0f} ms{phase}"
    )


def verdict(result: Result) -> str:
    limit = result.row.limit
    if limit == Limit():
        return "" if result.stable else "UNSTABLE"
    wanted = f"≤ {limit.absolute:g}" if limit.absolute is not None else f"≤ {limit.of_floor:g} × floor"
    wanted += "".join(f", {name} ≤ {most:g}" for name, most in limit.notes.items())
    word = "ok" if result.met else "MISSED"
    return f"{word} ({wanted})" + ("" if result.stable else ", UNSTABLE")


def _spread(values: Sequence[float]) -> float:
    return (max(values) - min(values)) / statistics.median(values)
