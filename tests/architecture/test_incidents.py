"""Staff find each kind of incident in docs/operations.md, with what to do about it."""

import ast
import re
from pathlib import Path
from typing import Final

from tests.architecture.source import ROOT

APPS: Final = (
    "accounts",
    "agents",
    "billing",
    "common",
    "config",
    "instances",
    "marketplace",
    "storage",
    "vast",
    "workloads",
)
OPENERS: Final = ("open_incident", "extend_incident")
CHOSEN_BY_CODE: Final = {  # kind=code
    "record_lost_data": ("data_disk_missing", "volume_missing", "root_lost"),
    "mark_cut_off": ("path_broken", "paused", "throttled"),
}


def kinds_in_the_docs() -> set[str]:
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    table = text.split("## Incidents\n")[1].split("\n## ")[0]
    return {kind for row in re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE) for kind in re.findall(r"`(\w+)`", row)}


def constants_of(tree: ast.Module) -> dict[str, str]:
    """Return the module's own texts, also those with an annotation."""
    found: dict[str, str] = {}
    for node in tree.body:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets if isinstance(node, ast.Assign) else []
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            found |= {target.id: value.value for target in targets if isinstance(target, ast.Name)}
    return found


def kinds_in_the_code() -> set[str]:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for app in APPS for path in sources(app)]
    constants = [constants_of(tree) for tree in trees]
    kinds: set[str] = set()
    for tree, own in zip(trees, constants, strict=True):
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            if function.name not in OPENERS:
                kinds |= {
                    kind for argument in kind_arguments(function) for kind in texts(argument, function, own, constants)
                }
    return kinds


def sources(app: str) -> list[Path]:
    return [path for path in (ROOT / app).rglob("*.py") if "migrations" not in path.parts]


def kind_arguments(function: ast.FunctionDef) -> list[ast.expr]:
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    opening = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in OPENERS]
    return [keyword.value for call in opening for keyword in call.keywords if keyword.arg == "kind"]


def texts(
    argument: ast.expr, function: ast.FunctionDef, own: dict[str, str], everywhere: list[dict[str, str]]
) -> tuple[str, ...]:
    if isinstance(argument, ast.Constant):
        return (str(argument.value),)
    assert isinstance(argument, ast.Name), ast.dump(argument)
    if argument.id in own:
        return (own[argument.id],)
    if function.name in CHOSEN_BY_CODE:
        return CHOSEN_BY_CODE[function.name]
    imported = {names[argument.id] for names in everywhere if argument.id in names}
    assert len(imported) == 1, f"{argument.id} is ambiguous: {imported}"
    return tuple(imported)


def test_each_kind_of_incident_has_its_row_for_operators() -> None:
    opened, documented = kinds_in_the_code(), kinds_in_the_docs()
    assert len(opened) > 20
    assert opened - documented == set(), "no row in docs/operations.md"
    assert documented - opened == set(), "nothing opens these"
