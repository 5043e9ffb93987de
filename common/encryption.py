"""Encryption of stored texts: credentials that the market must be able to use, and so cannot hash."""

import base64

from cryptography.fernet import Fernet, InvalidToken

from common.secret_digests import derived_key


class CannotUnseal(Exception):
    """Raised when the text was encrypted under another SECRET_KEY, or is damaged."""


def seal(text: str) -> str:
    """Encrypt and sign a text under a key derived from SECRET_KEY (Fernet: AES-128-CBC with HMAC-SHA256)."""
    return _fernet().encrypt(text.encode()).decode()


def unseal(sealed: str) -> str:
    try:
        return _fernet().decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise CannotUnseal("This was sealed under another key.") from error


def _fernet() -> Fernet:
    return Fernet(base64.urlsafe_b64encode(derived_key("sealing", "")))
