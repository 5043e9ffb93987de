"""The API keeps its own contract: generated requests meet only documented statuses, types and shapes, and never a 5xx."""

from collections import defaultdict
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from accounts.constants import SCOPES
from accounts.models import User
from accounts.tokens.services import issue_token
from common.http.outbound import OutboundFault, OutboundResponse
from config.wsgi import application
from tests.api.world import World, strange_ids

EXAMPLES = 25
SEARCHES = ("/api/v1/offers", "/api/v1/offers/facets")
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", application)


def without_operators(document: Any) -> Any:
    """Searches without `price__lt` and the like: to draw from two hundred parameters takes Hypothesis half a minute.

    tests/marketplace asks for each of them.
    """
    paths = {path: deepcopy(document["paths"][path]) for path in SEARCHES}
    for item in paths.values():
        item["get"]["parameters"] = [each for each in item["get"]["parameters"] if "__" not in each["name"]]
    return {**document, "paths": paths}


searches = schemathesis.openapi.from_dict(without_operators(schema.raw_schema))
searches.app = application


@pytest.fixture(autouse=True)
def kept_connection() -> Iterator[None]:
    """A WSGI application closes the connection that holds the test's transaction, unless it is kept from it."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture(autouse=True)
def no_registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of images are made up here: nobody out there is to be asked about them."""

    def refuse(*_: Any, **__: Any) -> OutboundResponse:
        raise OutboundFault("unresolved", "The domain name can't be resolved.")

    monkeypatch.setattr("storage.clients.oci_registry.client.send_request", refuse)
    monkeypatch.setattr("common.object_store.send_request", refuse)


def headers_of(user: User) -> dict[str, str]:
    _, text = issue_token(user=user, name="schema", scopes=list(SCOPES))
    return {"Authorization": f"Bearer {text}"}


@pytest.fixture
def owners(world: World) -> dict[str, dict[str, str]]:
    """Headers by the first part of the path, for those whose things are there: most requests are to get past the guard."""
    renter, host_owner = headers_of(world.renter), headers_of(world.host_owner)
    return defaultdict(lambda: renter, {"hosts": host_owner, "join-tokens": host_owner, "payouts": host_owner})


DRAWN = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@schema.exclude(path=list(SEARCHES)).parametrize()
@DRAWN
def test_conformance(case: Any, world: World, owners: dict[str, dict[str, str]]) -> None:
    # Two of three requests name a thing that exists, or one that could; the third what Hypothesis made up.
    turn = hash(str(case.path_parameters)) % 3
    for name in case.path_parameters:
        if turn < 2:
            case.path_parameters[name] = (world.ids if turn == 0 else strange_ids(world.ids))[name]
    resource = case.path.removeprefix("/api/v1/").partition("/")[0]
    case.call_and_validate(headers=owners[resource], checks=CHECKS)


@searches.parametrize()
@DRAWN
def test_conformance_of_searches(case: Any, world: World) -> None:
    case.call_and_validate(checks=CHECKS)
