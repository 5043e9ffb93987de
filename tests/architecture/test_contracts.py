"""The import contracts of pyproject.toml are kept, and each kind of breach breaks the contract that is against it."""

from copy import deepcopy
from functools import cache
from typing import Final

import grimp
import pytest
from importlinter.application.use_cases import read_user_options
from importlinter.application.user_options import UserOptions
from importlinter.configuration import configure
from importlinter.contracts.acyclic_siblings import AcyclicSiblingsContract
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract
from importlinter.contracts.protected import ProtectedContract
from importlinter.domain.contract import Contract

from tests.architecture.source import ROOT

CLASSES: Final[dict[str, type[Contract]]] = {
    "acyclic_siblings": AcyclicSiblingsContract,
    "forbidden": ForbiddenContract,
    "layers": LayersContract,
    "protected": ProtectedContract,
}
APPS: Final = "Layers between apps"
CYCLES: Final = "No import cycles between packages"
FEATURES: Final = "features stand in this order"
STRAY: Final = ""
"""Instead of an import: a new module that stands in no layer."""

# Importer, imported, and the contract that is against it.
BREACHES: Final = (
    ("config.urls", "devserver.supervisor", APPS),
    ("agents.gateway.services.sync", "config.urls", APPS),
    ("storage.volumes.attachments", "instances.core.selectors", APPS),
    ("instances.orders.rent", "workloads.templates.orders", APPS),
    ("billing.ledger.postings", "marketplace.leasing.lease", APPS),
    ("accounts.users.profile", "billing.ledger.postings", APPS),
    ("common.clock", "accounts.selectors", APPS),
    ("agents.gateway.selectors", "agents.gateway.services.sync", f"gateway: {FEATURES}"),
    ("agents.gateway.stray", STRAY, f"gateway: {FEATURES}"),
    ("instances.volumes.attach", "instances.web.volumes.forms", f"instances: {FEATURES}"),
    ("instances.models.instances", "instances.web.orders.context", f"instances: {FEATURES}"),
    ("instances.access.guards", "instances.host_reports.reconcile", f"instances: {FEATURES}"),
    ("instances.stray", STRAY, f"instances: {FEATURES}"),
    ("billing.payouts.bank_export", "billing.standing.mail", f"billing: {FEATURES}"),
    ("billing.stray", STRAY, f"billing: {FEATURES}"),
    ("marketplace.leasing.lease", "marketplace.hosts.hosts", f"marketplace: {FEATURES}"),
    ("storage.clients.stray", "storage.volumes.attachments", f"storage: {FEATURES}"),
    ("workloads.models.templates", "workloads.templates.services", f"workloads: {FEATURES}"),
    ("workloads.stray", STRAY, f"workloads: {FEATURES}"),
    ("vast.asks.asks", "vast.search.offers", f"vast: {FEATURES}"),
    ("vast.stray", STRAY, f"vast: {FEATURES}"),
    ("workloads.templates.services", "vast.create.orders", APPS),
    ("accounts.tokens.stray", "accounts.users.profile", f"accounts: {FEATURES}"),
    ("instances.web.volumes.views", "instances.web.volumes.api", "Pages and API views do not import each other"),
    ("instances.orders.rent", "billing.models", "Only billing touches the tables of billing"),
    ("agents.gateway.services.sync", "instances.models", "Only instances touches the tables of instances"),
    ("instances.orders.rent", "storage.models", "Only storage touches the tables of storage"),
    ("agents.daemon.lib.journal", "agents.daemon.docker_engine.runtime", "agent: packages stand in this order"),
    ("agents.daemon.stray", STRAY, "agent: packages stand in this order"),
    ("agents.daemon.agent", "django.db", "Daemon and protocol know no Django and no control plane"),
    ("agents.daemon.agent", "common.clock", "Daemon and protocol know no Django and no control plane"),
    ("agents.relay.change_notifier", "billing.ledger.postings", "The relay knows no Django and no table"),
    ("agents.protocol.messages", "requests", "The protocol is the standard library alone"),
    ("instances.orders.rent", "agents.gateway.services.sync", "The domain does not know that agents exist"),
    ("instances.states", "instances.models", "Transition tables are data"),
    ("billing.findings", "billing.ledger.checks", f"billing: {FEATURES}"),
    ("instances.core.selectors", "instances.lifecycle.stop", CYCLES),
)


@cache
def options() -> UserOptions:
    configure()
    return read_user_options(str(ROOT / "pyproject.toml"))


@cache
def contracts() -> dict[str, Contract]:
    return {
        each["name"]: CLASSES[each["type"]](each["name"], options().session_options, each)
        for each in options().contracts_options
    }


@cache
def graph() -> grimp.ImportGraph:
    packages = options().session_options["root_packages"]
    return grimp.build_graph(*packages, include_external_packages=True, exclude_type_checking_imports=True, cache_dir=None)


def is_kept(contract: Contract, imports: grimp.ImportGraph) -> bool:
    return contract.check(deepcopy(imports), verbose=False).kept


def test_each_contract_is_kept() -> None:
    assert [name for name, contract in contracts().items() if not is_kept(contract, graph())] == []


@pytest.mark.parametrize(("importer", "imported", "against"), BREACHES)
def test_each_breach_breaks_its_contract(importer: str, imported: str, against: str) -> None:
    seeded = deepcopy(graph())
    assert importer in seeded.modules or "stray" in importer
    seeded.add_module(importer)
    if imported != STRAY:
        target = imported if imported in seeded.modules else imported.partition(".")[0]  # others' packages are one node each
        assert target in seeded.modules
        assert not seeded.direct_import_exists(importer=importer, imported=target)
        seeded.add_import(importer=importer, imported=target, line_number=1, line_contents=f"import {imported}")
    assert not is_kept(contracts()[against], seeded)


def test_every_contract_has_its_breach() -> None:
    """But the protected tables of the apps that are written like the others'."""
    like_others = {name for name in contracts() if name.startswith("Only ")}
    assert contracts().keys() - {against for *_rest, against in BREACHES} <= like_others
