"""Grants for the market's registry.

A grant is a signed login that lets one host read or write one saved image for GRANT_LIFETIME.
"""

import base64
import hmac
import json
from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256
from typing import Final
from uuid import UUID

from django.conf import settings

from common import clock
from common.encryption import derived_key

PURPOSE: Final = "berth-registry-grant-v1"
GRANT_USER: Final = "berth-grant"
GRANT_LIFETIME: Final = timedelta(hours=2)
PULL: Final = ("pull",)
PULL_AND_PUSH: Final = ("pull", "push")


def market_repository(owner_id: UUID, image_id: UUID) -> str:
    """Return the repository of a saved image in the market's registry, or "" without such a registry."""
    if not settings.MARKET_REGISTRY:
        return ""
    return f"{settings.MARKET_REGISTRY}/{_path(owner_id, image_id)}"


def registry_grant(owner_id: UUID, image_id: UUID, actions: Sequence[str]) -> tuple[str, str]:
    """Return user name and password of a new grant, for a container engine to log in with."""
    ends = int((clock.now() + GRANT_LIFETIME).timestamp())
    claims = base64.urlsafe_b64encode(json.dumps([_path(owner_id, image_id), list(actions), ends]).encode()).decode()
    return GRANT_USER, f"{claims}.{_seal(claims)}"


def read_grant(username: str, password: str) -> tuple[str, tuple[str, ...]] | None:
    """Return repository and actions of a grant, or None for one that is forged or expired."""
    claims, _, seal = password.partition(".")
    if username != GRANT_USER or not hmac.compare_digest(seal.encode(), _seal(claims).encode()):
        return None
    path, actions, ends = json.loads(base64.urlsafe_b64decode(claims))
    return (path, tuple(actions)) if ends > clock.now().timestamp() else None


def _path(owner_id: UUID, image_id: UUID) -> str:
    return f"saved/{owner_id.hex}/{image_id.hex}"


def _seal(claims: str) -> str:
    return hmac.new(derived_key(PURPOSE, ""), claims.encode(), sha256).hexdigest()
