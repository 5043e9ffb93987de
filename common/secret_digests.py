"""Digests of secrets that were shown once, and derived keys, computed in one way everywhere."""

import hashlib
import hmac

from django.conf import settings


def secret_digest(secret: str) -> str:
    """Return the SHA-256 of a secret as 64 hexadecimal digits.

    No salt or stretching is needed: our secrets are long and random, and they are looked up by this value.
    """
    return hashlib.sha256(secret.encode()).hexdigest()


def derived_key(purpose: str, subject: str) -> bytes:
    """Return a key of 32 bytes for one purpose and subject.

    It reveals nothing about the secret key or any other derived one.
    """
    return hmac.digest(settings.SECRET_KEY.encode(), f"{purpose}\n{subject}".encode(), hashlib.sha256)
