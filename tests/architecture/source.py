"""The source as syntax trees: what the tests of the rules for modules read."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = (
    "accounts",
    "agents",
    "billing",
    "common",
    "config",
    "devserver",
    "instances",
    "marketplace",
    "storage",
    "vast",
    "workloads",
)
APPS = ("accounts", "agents/gateway", "billing", "instances", "marketplace", "storage", "vast", "workloads")
LAID_OUT_BY_FEATURE = tuple(app for app in APPS if (ROOT / app / "web").is_dir())
ENTRANCES = frozenset({"admin", "apps", "management", "migrations", "tasks", "urls", "web"})
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Source:
    """One file. `names` are those of its folders and its own, without the ending."""

    path: str
    text: str
    tree: ast.Module

    @property
    def names(self) -> tuple[str, ...]:
        return Path(self.path).with_suffix("").parts

    @property
    def feature(self) -> str:
        """The package below the app that holds it; "" in an app that is not laid out by features, and for entrances."""
        app = next((app for app in LAID_OUT_BY_FEATURE if self.path.startswith(f"{app}/")), "")
        inside = self.names[app.count("/") + 1] if app else ""
        return "" if inside in ENTRANCES or inside == "__init__" else inside

    def at(self, node: ast.AST) -> str:
        return f"{self.path}:{getattr(node, 'lineno', 1)}"

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in ast.walk(self.tree):
            if isinstance(node, FUNCTIONS):
                yield node


@cache
def sources() -> tuple[Source, ...]:
    """Every file of ours but migrations and tests."""
    found = []
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            path = file.relative_to(ROOT)
            if not {"migrations", "__pycache__", "build"} & set(path.parts):
                text = file.read_text(encoding="utf-8")
                found.append(Source(path.as_posix(), text, ast.parse(text)))
    return tuple(found)


def of_apps() -> list[Source]:
    return [source for source in sources() if source.path.startswith(tuple(f"{app}/" for app in APPS))]


def calls(tree: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """Each call with the name that is called: `move` of move(…), `update` of rows.update(…)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            callee = node.func
            yield node, callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")


def lines_of(node: ast.AST) -> int:
    return int(node.end_lineno or 0) - int(node.lineno) + 1  # type: ignore[attr-defined]
