"""How `make bench` tells its figures: medians, spread, limits, and what this machine cannot measure."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import __main__ as command
from bench import frame
from bench.frame import Limit, NotMeasurableHere, Result, Row, Sample, line_of, measure, verdict


def row(*samples: Sample, limit: Limit | None = None, name: str = "row") -> Row:
    left = list(samples)

    @contextmanager
    def measuring() -> Iterator[Callable[[], Sample]]:
        yield lambda: left.pop(0)

    return Row(name, "ms", "what", measuring, limit or Limit(), repeats=len(samples))


@pytest.fixture(autouse=True)
def loops(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[float]:
    """What the calibration's next loops take, in milliseconds; 30 once there are no more."""
    coming: list[float] = []
    monkeypatch.setattr(frame, "calibrate", lambda: coming.pop(0) if coming else 30.0)
    monkeypatch.setattr(frame, "FASTEST", tmp_path / "new" / "fastest")
    monkeypatch.setattr(frame, "PAUSE_S", 0.01)
    return coming


def test_medians_of_value_and_floor() -> None:
    result = measure(row(Sample(10, 5), Sample(12, 6), Sample(30, 15)))
    assert (result.value, result.floor, result.ratio) == (12, 6, 2)


def test_spread_is_of_the_ratio_so_that_a_slow_phase_of_the_machine_does_not_count() -> None:
    assert measure(row(Sample(10, 5), Sample(20, 10), Sample(30, 15))).spread == 0
    assert measure(row(Sample(10), Sample(20), Sample(30))).spread == 1
    assert not measure(row(Sample(10), Sample(20), Sample(30))).stable


def test_notes_are_medians_too() -> None:
    result = measure(row(*(Sample(1, 1, {"p99": value}) for value in (3.0, 1.0, 2.0))))
    assert result.notes == {"p99": 2}
    assert "p99 2.00" in line_of(result)


@pytest.mark.parametrize(
    ("limit", "word"),
    [
        (Limit(absolute=20), "ok (≤ 20)"),
        (Limit(absolute=9), "MISSED (≤ 9)"),
        (Limit(of_floor=2), "ok (≤ 2 × floor)"),
        (Limit(of_floor=1.5), "MISSED (≤ 1.5 × floor)"),
        (Limit(), ""),
    ],
)
def test_verdict(limit: Limit, word: str) -> None:
    assert verdict(Result(row(limit=limit), 10, 5, 0.1, 30, False, {})) == word


def test_a_limit_of_a_note() -> None:
    limit = Limit(of_floor=3, notes={"p99": 7})
    assert verdict(Result(row(limit=limit), 10, 5, 0.1, 30, False, {"p99": 6})) == "ok (≤ 3 × floor, p99 ≤ 7)"
    assert verdict(Result(row(limit=limit), 10, 5, 0.1, 30, False, {"p99": 8})) == "MISSED (≤ 3 × floor, p99 ≤ 7)"


def test_unstable_is_said() -> None:
    assert verdict(Result(row(limit=Limit(absolute=20)), 10, 5, 0.31, 30, False, {})) == "ok (≤ 20), UNSTABLE"


def test_command_ends_with_1_for_a_stable_miss_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def rows() -> tuple[Row, ...]:
        good, slow = [Sample(1.0)] * 3, [Sample(9.0)] * 3
        jumpy = [Sample(9.0), Sample(90.0), Sample(30.0)]
        limit = Limit(absolute=5)
        return (
            row(*good, limit=limit, name="good"),
            row(*slow, limit=limit, name="slow"),
            row(*jumpy, limit=limit, name="jumpy"),
        )

    monkeypatch.setattr(command, "ROWS", rows())
    assert command.main(["good", "jumpy"]) == 0
    monkeypatch.setattr(command, "ROWS", rows())
    assert command.main([]) == 1
    assert capsys.readouterr().out.count("UNSTABLE") == 2


def test_what_this_machine_lacks_is_told_and_passed_over(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def absent() -> Iterator[Callable[[], Sample]]:
        raise NotMeasurableHere("no engine")
        yield

    monkeypatch.setattr(command, "ROWS", (Row("real", "ms", "what", absent),))
    assert command.main([]) == 0
    assert "not measured: no engine" in capsys.readouterr().out


def test_unknown_row() -> None:
    with pytest.raises(SystemExit, match="no row nonsense"):
        command.main(["nonsense"])


def test_a_sample_waits_for_the_fast_phase(loops: list[float]) -> None:
    measure(row(Sample(1)))
    loops += [60, 55, 36, 33]  # two looks in a slow phase, then one in a fast one; and after the sample
    result = measure(row(Sample(1)))
    assert (loops, result.is_slow_phase) == ([], False)
    assert "slow phase" not in line_of(result)


@pytest.mark.parametrize("coming", [[30, 60], [60, 60]])
def test_a_slow_phase_is_said(loops: list[float], coming: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    measure(row(Sample(1)))
    monkeypatch.setattr(frame, "PATIENCE_S", 0.0)
    loops += coming
    assert "(slow phase)" in line_of(measure(row(Sample(1))))
