"""How secrets that were shown once are kept and keys are made: in one way everywhere, so that no two places disagree."""

import hashlib
import hmac

from django.conf import settings


def secret_digest(secret: str) -> str:
    """64 hex digits. No salt or stretching: our secrets are long and random, and they are looked up by this value."""
    return hashlib.sha256(secret.encode()).hexdigest()


def derived_key(purpose: str, subject: str) -> bytes:
    """32 bytes for one purpose and one subject; tells nothing about the secret key or any other derived one."""
    return hmac.digest(settings.SECRET_KEY.encode(), f"{purpose}\n{subject}".encode(), hashlib.sha256)
