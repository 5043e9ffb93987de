"""What the modules of an app may import, by the ending of their names: import-linter has no patterns for parts of a name."""

import ast
import re
from collections.abc import Iterable, Mapping
from typing import Final

import pytest

from tests.architecture.source import Source, of_apps

PATTERNS: Final = {
    "models": r"^models$",
    "selectors": r"^selectors$",
    "services": r"^services$",
    "base": r"^(states|errors|constants)$",
    "shapes": r"(^|_)(shapes?|schemas?|serializers)$",
    "forms": r"(^|_)forms?$",
    "page": r"(^|_)(console|page|panel|context)$",
    "views": r"(^|_)views$",
    "api": r"(^|_)api$",
    "admin": r"(^|_)admin$",
    "tasks": r"^tasks$",
    "urls": r"(^|_)urls$",
}
BASE: Final = frozenset({"states", "errors", "constants"})
MESSAGES: Final = re.compile(r"(^|_)words$")  # texts, wherever they lie
DOMAIN: Final = frozenset({"models", "selectors", "services", "base"})
ENTRANCES: Final = frozenset({"views", "api", "admin", "tasks", "urls"})
WEB: Final = ENTRANCES | {"shapes", "forms", "page"}
MAY_NOT: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(DOMAIN, WEB),
    "shapes": ENTRANCES | {"forms", "page"},
    "forms": ENTRANCES | {"page"},
    "page": ENTRANCES,
    "views": ENTRANCES,
    "api": ENTRANCES | {"forms", "page"},
    "admin": ENTRANCES - {"admin"},
    "tasks": WEB,
    "urls": frozenset(),
    "other": ENTRANCES,
}
Modules = Mapping[str, Source]


def kind_of(module: str, source: Source) -> str:
    """Return which rule `module` is under: that of its folder or, in the app's own folder, of its name."""
    inside = module.split(".")[2:] if module.startswith("agents.") else module.split(".")[1:]
    if not inside or MESSAGES.search(inside[-1]):
        return "other"
    if source.feature:
        return "base" if source.feature in BASE else "services"
    for part in dict.fromkeys((inside[0], inside[-1])):
        for kind, pattern in PATTERNS.items():
            if re.search(pattern, part):
                return "other" if kind == "api" and not _holds_views(source) else kind
    return "other"


def _holds_views(source: Source) -> bool:
    """`accounts.idempotent_api` is what API modules stand on, and no API module itself."""
    classes = (node for node in source.tree.body if isinstance(node, ast.ClassDef))
    return any("View" in ast.unparse(base) for node in classes for base in node.bases)


def imports_of(source: Source, modules: Modules) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            found.update(name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{name.name}" for name in node.names}
            found.update(names & modules.keys() or {node.module})
    return found & modules.keys()


def by_module(sources: Iterable[Source]) -> dict[str, Source]:
    return {".".join(source.names).removesuffix(".__init__"): source for source in sources}


def breaches(modules: Modules) -> list[str]:
    """List what is imported against the rules, directly or, by the domain, through modules that are under no rule."""
    kinds = {module: kind_of(module, source) for module, source in modules.items()}
    imports = {module: imports_of(source, modules) - {module} for module, source in modules.items()}
    found = {
        f"{module} imports {target}"
        for module, targets in imports.items()
        for target in targets
        if kinds[target] in MAY_NOT[kinds[module]]
    }
    for module in (module for module, kind in kinds.items() if kind in DOMAIN):
        seen, ahead = {module}, [module]
        while ahead:
            new = imports[ahead.pop()] - seen
            seen |= new
            ahead += [target for target in new if kinds[target] == "other"]
            found |= {f"{module} reaches {target}" for target in new if kinds[target] in WEB}
    return sorted(found)


def test_imports_only_go_down_inside_an_app() -> None:
    assert breaches(by_module(of_apps())) == []


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("instances.orders.rent", "instances.web.volumes.forms"),
        ("instances.core.selectors", "instances.web.volumes.serializers"),
        ("instances.models.instances", "instances.web.orders.context"),
        ("instances.states", "instances.web.lifecycle.serializers"),
        ("billing.ledger.postings", "billing.web.invoices.api"),
        ("billing.ledger.postings", "billing.web.payments.context"),
        ("billing.web.invoices.views", "billing.web.invoices.api"),
        ("instances.web.views", "instances.web.access.api"),
        ("instances.web.access.api", "instances.web.access.context"),
        ("instances.web.access.api", "instances.web.volumes.views"),
        ("instances.web.monitoring.metrics_api", "instances.web.api"),
        ("marketplace.web.guide.forms", "marketplace.web.guide.context"),
        ("marketplace.web.reliability.serializers", "marketplace.web.reliability.forms"),
        ("marketplace.web.pricing.context", "marketplace.web.pricing.views"),
        ("marketplace.web.search.context", "marketplace.web.search.api"),
        ("billing.web.payments.admin", "billing.web.payments.views"),
        ("storage.tasks", "storage.web.volumes.forms"),
        ("accounts.users.profile", "accounts.web.webhooks.forms"),
        ("agents.gateway.services.sync", "agents.gateway.views"),
        ("instances.core.endpoints", "instances.web.volumes.views"),
    ],
)
def test_each_breach_is_seen(importer: str, imported: str) -> None:
    """The positive control: one import too many, and it is named."""
    modules = by_module(of_apps())
    assert imported in modules
    assert f"{importer} imports {imported}" in breaches(_with_import(modules, importer, imported))


def test_a_way_round_a_rule_is_seen() -> None:
    """A service that imports a module under no rule, which imports a form."""
    modules = _with_import(by_module(of_apps()), "accounts.users.profile", "accounts.web.sessions.middleware")
    modules = _with_import(modules, "accounts.web.sessions.middleware", "accounts.web.webhooks.forms")
    assert "accounts.users.profile reaches accounts.web.webhooks.forms" in breaches(modules)


def _with_import(modules: Modules, importer: str, imported: str) -> dict[str, Source]:
    source = modules[importer]
    text = f"{source.text}\nimport {imported}\n"
    return {**modules, importer: Source(source.path, text, ast.parse(text))}
