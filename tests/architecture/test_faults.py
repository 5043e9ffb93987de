"""The table of faults is what the tests provoke: each number once, each with tests that are there and bear it."""

import ast
import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
ROW: Final = re.compile(r"^\| (\d+) \|.*\|(.*)\|$", re.MULTILINE)
TEST: Final = re.compile(r"`([\w/]+\.py)::(test_fault_((?:\d{3}_)+)\w+)`")
FAULTS: Final = range(1, 103)


def table() -> list[tuple[int, str]]:
    return [(int(number), cell) for number, cell in ROW.findall((ROOT / "docs" / "faults.md").read_text())]


def names_in(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


def test_each_fault_has_its_row() -> None:
    assert [number for number, _ in table()] == list(FAULTS)


def test_each_row_names_tests_that_are_there_and_bear_its_number() -> None:
    wrong = []
    for number, cell in table():
        named = TEST.findall(cell)
        if not named:
            wrong.append(f"{number}: no test")
        for file, name, numbers in named:
            path = ROOT / "tests" / file
            if not path.exists() or name not in names_in(path) or f"{number:03}" not in numbers.split("_"):
                wrong.append(f"{number}: {file}::{name}")
    assert wrong == []
