"""The page of faults agrees with the tests: each number once, and all that a row or a count says is so."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.seeded_faults.catalogue import FAULTS as SEEDED

ROOT: Final = Path(__file__).resolve().parent.parent.parent
TESTS: Final = ROOT / "tests"
PAGE: Final = (ROOT / "docs" / "faults.md").read_text()
ROW: Final = re.compile(r"^\| (\d+) \|(.*)\|$", re.MULTILINE)
COUNT: Final = re.compile(r"^\| \*?(\w+)\*?(?:: .*)? \| (\d+) \|$", re.MULTILINE)
QUOTED: Final = re.compile(r"`([^`]+)`")
NUMBERS: Final = re.compile(r"test_fault_((?:\d{3}_)+)")
PLACES: Final = {"docker": "engine", "stack": "stack"}  # by the folder of a test; the others are "services"
FAULTS: Final = range(1, 103)


@dataclass(frozen=True)
class Row:
    """What the page says of one fault: where it is caused, why a part is argued, its controls and its tests."""

    number: int
    how: frozenset[str]
    argued: str
    controls: tuple[str, ...]
    tests: tuple[str, ...]
    more: int


def rows_of_page() -> Iterator[Row]:
    for number, line in ROW.findall(PAGE):
        how, control, tests = line.split(" | ")[-3:]
        places, _, argued = how.partition("; argued: ")
        more = re.search(r", (\d+) more", tests)
        controls = tuple(QUOTED.findall(control))
        assert controls or control == "none", f"{number}: {control}"
        yield Row(
            int(number),
            frozenset(places.split(", ")),
            argued,
            controls,
            tuple(QUOTED.findall(tests)),
            int(more[1] if more else 0),
        )


def numbers_in(name: str) -> list[int]:
    found = NUMBERS.match(name)
    return [] if found is None else [int(number) for number in found[1].strip("_").split("_")]


def names_in(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


def bearers() -> dict[int, set[str]]:
    """Every test that bears a fault's number, by the number."""
    found = defaultdict(set)
    for path in TESTS.rglob("test_*.py"):
        for name in names_in(path):
            for number in numbers_in(name):
                found[number].add(f"{path.relative_to(TESTS)}::{name}")
    return found


ROWS: Final = list(rows_of_page())
BEARERS: Final = bearers()
SEEDED_FOR: Final = {
    fault.name: {number for test in fault.tests for number in numbers_in(test.partition("::")[2])} for fault in SEEDED
}


def test_each_fault_has_its_row() -> None:
    assert [row.number for row in ROWS] == list(FAULTS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.number))
def test_a_row_names_tests_that_exist_and_counts_the_rest(row: Row) -> None:
    assert row.tests
    assert set(row.tests) <= BEARERS[row.number]
    assert len(row.tests) + row.more == len(BEARERS[row.number])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.number))
def test_a_row_says_where_its_tests_cause_the_fault(row: Row) -> None:
    assert row.how == {PLACES.get(test.partition("/")[0], "services") for test in BEARERS[row.number]}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.number))
def test_a_control_exists(row: Row) -> None:
    """A seeded fault counts only where one of its tests is one of the fault's own."""
    switches = [control for control in row.controls if "::" in control]
    for control in switches:
        path, _, name = control.partition("::")
        assert name in names_in(TESTS / path), control
    seeded = {name for name, numbers in SEEDED_FOR.items() if row.number in numbers}
    assert set(row.controls) - set(switches) == seeded


def test_the_counts_are_those_of_the_table() -> None:
    places = {place: sum(place in row.how for row in ROWS) for place in ("engine", "stack", "services")}
    argued = sum(bool(row.argued) for row in ROWS)
    control = sum(bool(row.controls) for row in ROWS)
    counted = {"all": len(ROWS), **places, "argued": argued, "control": control, "none": len(ROWS) - control}
    assert {name: int(number) for name, number in COUNT.findall(PAGE)} == counted
