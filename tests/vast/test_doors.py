"""Every address of the API of Vast: which are open to everyone, and what the others answer without a token."""

import logging
import re
from typing import Any, Final

import pytest
from django.test import Client
from rest_framework.permissions import AllowAny

from accounts.constants import ANY_SCOPE, SCOPES
from accounts.models import User
from accounts.tokens.services import issue_token
from common.http.secret_paths import SecretPaths
from tests.vast.conftest import Vast
from vast.urls import v0_urlpatterns, v1_urlpatterns

SIGNED: Final = {"vast_log", "vast_result"}  # whoever has the address, which ends soon
OPEN: Final = SIGNED | {"vast_gpu_names", "vast_bundles", "vast_search", "vast_volume_places", "vast_unsupported"}
METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")


def entries() -> list[tuple[str, str, str, Any]]:
    """(method, path, name, view) of each; places for numbers have one."""
    found = []
    for prefix, patterns in (("/api/v0/", v0_urlpatterns), ("/api/v1/", v1_urlpatterns)):
        for pattern in patterns:
            view = pattern.callback.cls  # type: ignore[attr-defined]  # REST framework sets it
            path = re.sub(r"\(\?P<\w+>[^)]*\)", "7" * 20 if pattern.name in SIGNED else "7", str(pattern.pattern))
            address = prefix + path.removeprefix("^").removesuffix("$").removesuffix("?")
            found += [(method, address, str(pattern.name), view) for method in METHODS if hasattr(view, method.lower())]
    return found


CLOSED: Final = [entry for entry in entries() if entry[2] not in OPEN]


def test_what_is_open_is_meant_to_be() -> None:
    assert {name for _, _, name, view in entries() if AllowAny in view.permission_classes} == OPEN - {"vast_unsupported"}
    assert len(CLOSED) > 30


def test_what_is_closed_names_a_scope_for_each_method() -> None:
    assert [name for method, _, name, view in CLOSED if view.scopes.get(method) not in {*SCOPES, ANY_SCOPE}] == []


@pytest.mark.parametrize(("method", "path", "name", "view"), CLOSED, ids=str)
def test_without_a_token(method: str, path: str, name: str, view: Any, db: None) -> None:
    assert Vast(Client()).refused(method, path) == (401, "not_authenticated")


def test_each_needs_its_scope(alice: User, subtests: pytest.Subtests) -> None:
    _, text = issue_token(user=alice, name="narrow", scopes=["webhooks:read"])
    narrow = Vast(Client(headers={"authorization": f"Bearer {text}"}))
    for method, path, name, view in CLOSED:
        with subtests.test(f"{method} {name}"):
            if view.scopes[method] != ANY_SCOPE:
                assert narrow.refused(method, path) == (403, "missing_scope")


@pytest.mark.parametrize(
    "line",
    [
        "Not Found: /api/v0/instances/?owner=me&api_key=berth_secret",
        "GET /api/v0/logs/WyJzZWNyZXQiXQ:1secret:secret refused",
        "GET /api/v0/results/WyJzZWNyZXQiXQ:1secret:secret refused",
    ],
)
def test_what_opens_is_not_logged(line: str) -> None:
    record = logging.LogRecord("x", logging.INFO, "x", 1, line, None, None)
    SecretPaths().filter(record)
    assert "secret" not in record.getMessage()
