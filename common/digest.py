"""How secrets that were shown once are kept: as their SHA-256, in one way everywhere, so that two places cannot disagree."""

import hashlib


def secret_digest(secret: str) -> str:
    """64 hex digits. No salt or stretching: our secrets are long and random, and they are looked up by this value."""
    return hashlib.sha256(secret.encode()).hexdigest()
