"""The end of a command's program: also of one that the engine has not quite started yet."""

import signal
from collections.abc import Callable

import pytest

from agents.daemon.operations import command_streams
from agents.daemon.operations.command_streams import end_program


class Program:
    """A program that is found among the processes from the `appears`-th look on, and ends by the named signal."""

    def __init__(self, appears: int, ends_by: int) -> None:
        self.looks, self.appears, self.ends_by = 0, appears, ends_by
        self.signals: list[int] = []

    def stop(self, number: int) -> bool:
        self.looks += 1
        if self.looks < self.appears or self.ends_by in self.signals:
            return False
        self.signals.append(number)
        return True


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_streams, "APPEARS_S", 0.5)
    monkeypatch.setattr(command_streams, "GRACE_S", 0.2)
    monkeypatch.setattr(command_streams, "_KILL_PAUSE_S", 0.01)


@pytest.mark.parametrize("appears", [1, 4])
@pytest.mark.parametrize("ends_by", [signal.SIGTERM, signal.SIGKILL])
def test_it_is_ended_whenever_it_appears(appears: int, ends_by: int) -> None:
    program = Program(appears, ends_by)
    end_program(program.stop)
    assert ends_by in program.signals and program.signals[0] == signal.SIGTERM


@pytest.mark.parametrize(("is_over", "looks_again"), [(lambda: True, False), (lambda: False, True)])
def test_what_is_over_is_not_waited_for(is_over: Callable[[], bool], looks_again: bool) -> None:
    program = Program(10**9, signal.SIGTERM)
    end_program(program.stop, is_over=is_over)
    assert (program.looks > 1) is looks_again and program.signals == []
