"""Signatures of the market under usage records: Ed25519 over their canonical text."""

import hashlib
import json
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings

_ID_DIGITS = 16


def canonical(record: dict[str, Any]) -> bytes:
    """Return the signed bytes: JSON with sorted keys, no blanks, UTF-8.

    Records hold only texts, whole numbers and nulls.
    """
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sign(record: dict[str, Any]) -> str:
    """Return the signature of a record as 128 hexadecimal digits."""
    return _key(_seed()).sign(canonical(record)).hex()


def public_key() -> str:
    """Return the market's public key as 64 hexadecimal digits."""
    return _key(_seed()).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()


def key_id() -> str:
    """Return the id of the signing key: the beginning of its SHA-256 digest."""
    return hashlib.sha256(bytes.fromhex(public_key())).hexdigest()[:_ID_DIGITS]


def _seed() -> bytes:
    return bytes.fromhex(settings.LEDGER_SIGNING_KEY)


@cache
def _key(seed: bytes) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(seed)
