"""The chains of functions in docs/architecture.md: each function is there, and mentions the next one."""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

import pytest

from tests.architecture.source import ROOT, Source, sources
from tests.architecture.test_imports import by_module, imports_of

PAGE: Final = ROOT / "docs" / "architecture.md"
CHAIN: Final = re.compile(r"^### (.+?)\n\n((?:\d+\. .+\n)+)", re.MULTILINE)
STEP: Final = re.compile(r"^\d+\. (then .+?)?`((?:\w+\.)+\w+)`", re.MULTILINE)
# How often a chain may go to a module that the present one does not import, directly or through others.
CLIMBS: Final = {"A report": 0, "A quote": 0, "An order": 3}


class Step(NamedTuple):
    module: str
    name: str
    apart: bool
    """It is reached in another way than by a call."""


MODULES: Final = by_module(sources())


def chains() -> dict[str, list[Step]]:
    return {title.partition(",")[0]: [_step(*found) for found in STEP.findall(lines)] for title, lines in _sections()}


def _sections() -> list[tuple[str, str]]:
    return CHAIN.findall(PAGE.read_text(encoding="utf-8"))


def _step(apart: str, path: str) -> Step:
    parts = path.split(".")
    ends = next(end for end in range(len(parts), 0, -1) if ".".join(parts[:end]) in MODULES)
    return Step(".".join(parts[:ends]), ".".join(parts[ends:]), bool(apart))


def _definition(step: Step) -> ast.AST | None:
    """Return the function, class member or assignment that `step` names."""
    body: list[ast.stmt] = MODULES[step.module].tree.body
    node: ast.AST | None = None
    for part in step.name.split("."):
        node = next((each for each in body if part in _defines(each)), None)
        body = node.body if isinstance(node, ast.ClassDef) else []
    return node


def _defines(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id


def _mentions(node: ast.AST, name: str) -> bool:
    last = name.rpartition(".")[2]
    return any(
        (isinstance(each, ast.Name) and each.id == last) or (isinstance(each, ast.Attribute) and each.attr == last)
        for each in ast.walk(node)
    )


def _imported_by(module: str, modules: dict[str, Source]) -> set[str]:
    seen, ahead = {module}, [module]
    while ahead:
        new = imports_of(modules[ahead.pop()], modules) - seen
        seen |= new
        ahead += new
    return seen


def faults(chain: list[Step]) -> list[str]:
    """List what `chain` says and the code does not."""
    found = [f"{step.module}.{step.name} is not there" for step in chain if _definition(step) is None]
    for step, following in pairwise(chain):
        node = _definition(step)
        if node is not None and not following.apart and not _mentions(node, following.name):
            found.append(f"{step.module}.{step.name} does not call {following.name}")
    return found


def climbs(chain: list[Step]) -> int:
    return sum(following.module not in _imported_by(step.module, MODULES) for step, following in pairwise(chain))


def test_each_chain_is_as_the_page_says() -> None:
    assert chains().keys() == CLIMBS.keys()
    for title, (_title, lines) in zip(chains(), _sections(), strict=True):
        assert len(chains()[title]) == len(lines.splitlines()) >= 5, title
    assert {title: found for title, chain in chains().items() if (found := faults(chain))} == {}


def test_chains_seldom_climb() -> None:
    counted = {title: climbs(chain) for title, chain in chains().items()}
    assert {title: count for title, count in counted.items() if count > CLIMBS[title]} == {}


@pytest.mark.parametrize("place", [2, 7, 11])
def test_a_broken_chain_is_seen(place: int) -> None:
    """The positive control: a step left out, and one that is not there."""
    chain = chains()["A report"]
    assert faults(chain[:place] + chain[place + 1 :])
    assert faults([*chain[:place], chain[place]._replace(name="no_such_function"), *chain[place + 1 :]])
