"""A command that was begun before: ended and told, never begun again, whatever was lost meanwhile."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from agents.daemon.disks.operation_runner import Operations
from agents.daemon.operations import command_streams
from agents.daemon.operations.command_records import CommandRecords
from agents.daemon.operations.command_streams import StartedCommand
from agents.daemon.operations.run_command import KIND, CommandRunner
from agents.protocol.messages import ObservedOperation, OperationOrder

ORDER = OperationOrder("0c" * 16, KIND, {"instance": "1a" * 16, "timeout_s": "5"})
WHOLE = OperationOrder(ORDER.id, KIND, {**ORDER.args, "command": json.dumps(["true"])})


class Container:
    """An instance in which one program of the command still runs, until it is signalled."""

    def __init__(self) -> None:
        self.started: list[Sequence[str]] = []
        self.signals: list[tuple[str, str]] = []

    def program(
        self, instance: str, words: Sequence[str], env: Mapping[str, str], *, user: str, workdir: str
    ) -> StartedCommand:
        self.started.append(words)
        raise OSError("nothing starts here")

    def signal_program(self, instance: str, mark: str, leader: int, number: int) -> bool:
        self.signals.append((instance, mark))
        return len(self.signals) == 1


@pytest.fixture
def container(monkeypatch: pytest.MonkeyPatch) -> Container:
    monkeypatch.setattr(command_streams, "APPEARS_S", 0.05)
    monkeypatch.setattr(command_streams, "GRACE_S", 0.05)
    return Container()


def carry_out(order: OperationOrder, records: CommandRecords, container: Container) -> ObservedOperation:
    runner = CommandRunner(records, container, lambda _instance: {})
    operations = Operations({KIND: runner}, inline=True, forget=runner.forget)
    operations.apply([order])
    (seen,) = operations.seen()
    return seen


@pytest.mark.parametrize("is_recorded", [True, False])
def test_what_has_begun_is_ended_and_not_begun_again(tmp_path: Path, container: Container, is_recorded: bool) -> None:
    """The market sends no words of a command that has begun, so that this holds without the record too."""
    records = CommandRecords(tmp_path)
    if is_recorded:
        records.begin(ORDER.id, ORDER.args["instance"])
    seen = carry_out(ORDER, records, container)
    assert (seen.phase, seen.failure_code) == ("failed", "agent_restarted")
    assert container.started == []
    assert set(container.signals) == {(ORDER.args["instance"], ORDER.id)}, "what was left of it is ended"


def test_what_was_recorded_is_told_without_its_words(tmp_path: Path, container: Container) -> None:
    records = CommandRecords(tmp_path)
    records.begin(ORDER.id, ORDER.args["instance"])
    records.end(ORDER.id, {"exit_code": "0"})
    seen = carry_out(ORDER, records, container)
    assert (seen.phase, seen.outcome, container.started) == ("done", {"exit_code": "0"}, [])


def test_what_has_not_begun_is_begun(tmp_path: Path, container: Container) -> None:
    carry_out(WHOLE, CommandRecords(tmp_path), container)
    assert container.started == [["true"]]
