"""The market's own registry: a grant opens one image for a while, and nothing else."""

import base64
import json
import subprocess
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import time_machine
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509 import load_der_x509_certificate
from django.test import Client

from storage.images.registry_grants import PULL, PULL_AND_PUSH, market_repository, registry_grant

OWNER, IMAGE = UUID(int=1), UUID(int=2)
PLACE = f"saved/{OWNER.hex}/{IMAGE.hex}"


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As deployment makes them."""
    folder = tmp_path_factory.mktemp("registry") / "secrets"
    script = Path(__file__).resolve().parents[3] / "deploy" / "make-secrets"
    subprocess.run([script, folder], check=True, capture_output=True, timeout=60)
    return folder


@pytest.fixture(autouse=True)
def market_registry(settings: Any, secrets: Path) -> None:
    settings.MARKET_REGISTRY = "registry.example"
    settings.MARKET_REGISTRY_KEY = (secrets / "registry_key").read_text()
    settings.MARKET_REGISTRY_CERTIFICATE = (secrets / "registry_certificate").read_text()


def ask(username: str, password: str, *scopes: str) -> Any:
    login = base64.b64encode(f"{username}:{password}".encode()).decode()
    return Client().get(
        "/registry/token", {"service": "berth", "scope": list(scopes)}, headers={"authorization": f"Basic {login}"}
    )


def part(token: str, number: int) -> Any:
    text = token.split(".")[number]
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def test_where_images_go(settings: Any) -> None:
    assert market_repository(OWNER, IMAGE) == f"registry.example/{PLACE}"
    settings.MARKET_REGISTRY = ""
    assert market_repository(OWNER, IMAGE) == ""


def test_a_grant_opens_what_it_names_and_no_more() -> None:
    token = ask(*registry_grant(OWNER, IMAGE, PULL_AND_PUSH), f"repository:{PLACE}:pull,push,delete").json()["token"]
    assert part(token, 1)["access"] == [{"type": "repository", "name": PLACE, "actions": ["pull", "push"]}]
    read = ask(*registry_grant(OWNER, IMAGE, PULL), f"repository:{PLACE}:pull,push").json()["token"]
    assert part(read, 1)["access"][0]["actions"] == ["pull"]
    other = ask(*registry_grant(OWNER, IMAGE, PULL), "repository:saved/other:pull registry:catalog:*").json()["token"]
    assert part(other, 1)["access"] == []
    assert ask(*registry_grant(OWNER, IMAGE, PULL)).status_code == 200


def test_the_registry_can_check_it() -> None:
    token = ask(*registry_grant(OWNER, IMAGE, PULL), f"repository:{PLACE}:pull").json()["token"]
    payload, _, signature = token.rpartition(".")
    halves = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    assert part(token, 0)["alg"] == "ES256"
    key = load_der_x509_certificate(base64.b64decode(part(token, 0)["x5c"][0])).public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    pair = (int.from_bytes(halves[:32], "big"), int.from_bytes(halves[32:], "big"))
    key.verify(encode_dss_signature(*pair), payload.encode(), ec.ECDSA(SHA256()))
    claims = part(token, 1)
    assert (claims["iss"], claims["aud"], claims["exp"] - claims["iat"]) == ("berth", "berth", 600)


def test_what_is_no_grant_opens_nothing(settings: Any) -> None:
    username, password = registry_grant(OWNER, IMAGE, PULL)
    payload, _, seal = password.partition(".")
    forged = base64.urlsafe_b64encode(base64.urlsafe_b64decode(payload).replace(b"pull", b"push")).decode()
    for wrong in ((username, f"{forged}.{seal}"), (username, ""), ("root", password), (username, "é.x")):
        assert ask(*wrong, f"repository:{PLACE}:pull").status_code == 401
    assert Client().get("/registry/token").status_code == 401
    assert Client().get("/registry/token", headers={"authorization": "Basic %%%"}).status_code == 401
    with time_machine.travel("2099-01-01T00:00:00Z"):
        assert ask(username, password).status_code == 401
    settings.MARKET_REGISTRY_KEY = ""
    assert ask(username, password).status_code == 404
