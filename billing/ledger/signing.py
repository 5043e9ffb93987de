"""The market's signature under usage records: Ed25519 over their canonical text."""

import hashlib
import json
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings

_ID_DIGITS = 16


def canonical(record: dict[str, Any]) -> bytes:
    """What is signed: JSON with sorted keys, no blanks, UTF-8. Records hold texts, whole numbers and nulls alone."""
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sign(record: dict[str, Any]) -> str:
    """128 hex digits."""
    return _key(_seed()).sign(canonical(record)).hex()


def public_key() -> str:
    """64 hex digits."""
    return _key(_seed()).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()


def key_id() -> str:
    """Which key has signed: the beginning of its digest."""
    return hashlib.sha256(bytes.fromhex(public_key())).hexdigest()[:_ID_DIGITS]


def _seed() -> bytes:
    return bytes.fromhex(settings.LEDGER_SIGNING_KEY)


@cache
def _key(seed: bytes) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(seed)
