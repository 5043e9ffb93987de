"""Bearer tokens for the market's own registry, in the format of the Docker registry (JWT, ES256)."""

import base64
import json
from datetime import timedelta
from functools import cache
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate
from django.conf import settings

from common import clock
from common.errors import NotFound
from common.ids import new_uuid
from storage.errors import RegistryLoginRefused
from storage.images.registry_grants import read_grant

ISSUER: Final = "berth"
LIFETIME: Final = timedelta(minutes=10)
_HALF: Final = 32  # bytes of r and of s in a P-256 signature


def issue_registry_token(*, username: str, password: str, scopes: list[str]) -> dict[str, Any]:
    """Issue a token for the requested scopes that the grant covers; all other scopes are left out.

    `scopes` are the registry's, such as `repository:saved/…:pull,push`. Raises RegistryLoginRefused for a grant that
    is forged or expired, and NotFound in a market without a registry.
    """
    if not settings.MARKET_REGISTRY_KEY:
        raise NotFound("This market has no registry.")
    grant = read_grant(username, password)
    if grant is None:
        raise RegistryLoginRefused("This grant isn't valid, or has expired.")
    repository, actions = grant
    access = [
        {"type": "repository", "name": repository, "actions": sorted(set(actions) & set(requested.split(",")))}
        for kind, name, requested in (_parts(scope) for scope in scopes)
        if (kind, name) == ("repository", repository)
    ]
    now = clock.now()
    claims = {
        "iss": ISSUER,
        "sub": username,
        "aud": ISSUER,
        "exp": int((now + LIFETIME).timestamp()),
        "nbf": int((now - timedelta(seconds=30)).timestamp()),
        "iat": int(now.timestamp()),
        "jti": new_uuid().hex,
        "access": access,
    }
    return {"token": _signed(claims), "expires_in": int(LIFETIME.total_seconds()), "issued_at": now.isoformat()}


def _parts(scope: str) -> tuple[str, str, str]:
    kind, _, rest = scope.partition(":")
    name, _, actions = rest.rpartition(":")
    return kind, name, actions


def _signed(claims: dict[str, Any]) -> str:
    key, certificate = _keys(settings.MARKET_REGISTRY_KEY, settings.MARKET_REGISTRY_CERTIFICATE)
    header = {"typ": "JWT", "alg": "ES256", "x5c": [certificate]}
    signed = f"{_encoded(json.dumps(header).encode())}.{_encoded(json.dumps(claims).encode())}"
    r, s = decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(SHA256())))
    return f"{signed}.{_encoded(r.to_bytes(_HALF, 'big') + s.to_bytes(_HALF, 'big'))}"


@cache
def _keys(key_pem: str, certificate_pem: str) -> tuple[ec.EllipticCurvePrivateKey, str]:
    key = load_pem_private_key(key_pem.encode(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    certificate = load_pem_x509_certificate(certificate_pem.encode()).public_bytes(Encoding.DER)
    return key, base64.b64encode(certificate).decode()


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
