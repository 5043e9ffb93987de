"""Generated passwords of root: shown once, stored as a hash for the image's crypt(3)."""

import hashlib
import secrets
from typing import Final

_LETTERS: Final = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # no letters or digits that look alike
_LENGTH: Final = 20
_ITOA64: Final = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LOG2_N, _R, _P = 14, 8, 1
_SALT_BYTES, _KEY_BYTES = 16, 32
_SIX_BITS, _BYTE, _THREE, _PARAMETER_BITS = 6, 8, 3, 30


def new_password() -> str:
    """Return a random password with 115 bits of entropy."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))


def hash_password(password: str) -> str:
    """Hash a password in crypt's format `$7$` (scrypt, 16 MiB).

    libxcrypt reads it, which every Debian and Ubuntu has had since 2020.
    """
    salt = _encode(secrets.token_bytes(_SALT_BYTES))
    key = hashlib.scrypt(password.encode(), salt=salt.encode(), n=1 << _LOG2_N, r=_R, p=_P, dklen=_KEY_BYTES)
    parameters = f"{_ITOA64[_LOG2_N]}{_digits(_R, _PARAMETER_BITS)}{_digits(_P, _PARAMETER_BITS)}"
    return f"$7${parameters}{salt}${_encode(key)}"


def _digits(value: int, bits: int) -> str:
    """Encode an integer in crypt's alphabet, the lowest six bits first."""
    return "".join(_ITOA64[value >> shift & (1 << _SIX_BITS) - 1] for shift in range(0, bits, _SIX_BITS))


def _encode(content: bytes) -> str:
    parts = (content[start : start + _THREE] for start in range(0, len(content), _THREE))
    return "".join(_digits(int.from_bytes(part, "little"), _BYTE * len(part)) for part in parts)
