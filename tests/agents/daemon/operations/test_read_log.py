"""What is told of a log: its end, what matches, nothing that a page or a database cannot hold."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.daemon.disks.operation_runner import Operation
from agents.daemon.engine.interface import ContainerOrder
from agents.daemon.engine.simulated import SimulatedRuntime
from agents.daemon.lib.errors import Failed
from agents.daemon.operations.read_log import LONGEST_LINE, MOST_CHARS, LogReader, last_matching, split_lines
from agents.protocol.messages import DesiredInstance, OperationOrder


def texts(raw: bytes) -> list[str]:
    return [text for _, text in split_lines(raw)]


def test_a_terminals_language_is_left_out() -> None:
    raw = b"T1 \x1b[1;32mok\x1b[0m \x1b]0;title\x07done\nT2 10%\r20%\r30%\nT3 bell\x07 \xff\x00 end\r\nT4 \nT5 tab\there"
    assert texts(raw) == ["ok done", "30%", "bell \ufffd end", "", "tab\there"]


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_become_lines_that_travel(raw: bytes) -> None:
    for line in split_lines(b"T " + raw):
        text = json.loads(json.dumps(line))[1]
        assert "\0" not in text and "\x1b" not in text and "\n" not in text
        text.encode()


def test_the_end_of_what_matches_as_far_as_it_fits() -> None:
    lines = [(f"T{n}", f"Epoch {n}") for n in range(100)]
    assert last_matching(lines, q="ePOCH 9", tail=3) == (
        [("T97", "Epoch 97"), ("T98", "Epoch 98"), ("T99", "Epoch 99")],
        True,
    )
    assert last_matching(lines, q="", tail=100) == (lines, False)
    assert last_matching(lines, q="none", tail=5) == ([], False)
    long = [(str(n), "x" * LONGEST_LINE) for n in range(100)]
    found, cut = last_matching(long, q="", tail=100)
    assert cut and found[-1] == long[-1]
    assert MOST_CHARS - LONGEST_LINE - 10 < sum(len(text) for _, text in found) <= MOST_CHARS


def test_the_newest_container_is_read(tmp_path: Path) -> None:
    runtime = SimulatedRuntime(tmp_path / "sim.json")
    requests: list[tuple[str, int | None, float | None]] = []

    def source(container: str, tail: int | None, since: float | None) -> bytes:
        requests.append((container, tail, since))
        return b"T one\nT two\n"

    reader = LogReader(runtime, source)

    def read(**args: str) -> dict[str, str]:
        order = OperationOrder("b" * 32, "read_log", {"instance": "a" * 32, **args})
        return dict(reader(Operation(order, lambda urgent: None)))

    with pytest.raises(Failed, match="no container"):
        read()
    for generation in (1, 2):
        desired = DesiredInstance("a" * 32, generation, 1, "running", "i")
        newest = runtime.create(ContainerOrder(desired, "i", "/access"))
    assert json.loads(read(tail="1")["lines"]) == [["T", "two"]]
    assert read(tail="2") == {"lines": '[["T", "one"], ["T", "two"]]', "cut": ""}
    read(tail="9", q="x", since="12.5")
    assert requests == [(newest, 2, None), (newest, 3, None), (newest, None, 12.5)]
