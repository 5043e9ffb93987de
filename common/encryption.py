"""Encryption, digests and derived keys of secrets.

Credentials that the market must be able to use are encrypted; secrets that were shown once are stored as digests.
Both are computed in one way everywhere.
"""

import base64
import hashlib
import hmac

from cryptography.fernet import Fernet, InvalidToken
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


class CannotDecrypt(Exception):
    """Raised when the text was encrypted under another SECRET_KEY, or is damaged."""


def encrypt(text: str) -> str:
    """Encrypt and sign a text under a key derived from SECRET_KEY (Fernet: AES-128-CBC with HMAC-SHA256)."""
    return _fernet().encrypt(text.encode()).decode()


def decrypt(sealed: str) -> str:
    try:
        return _fernet().decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise CannotDecrypt("This was sealed under another key.") from error


def _fernet() -> Fernet:
    return Fernet(base64.urlsafe_b64encode(derived_key("sealing", "")))
