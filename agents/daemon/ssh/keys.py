"""Host keys of the agent's SSH server, renters' public keys, and root's password."""

import hashlib
import hmac
import logging
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import asyncssh

from agents.daemon.lib.atomic_files import write_atomically

logger = logging.getLogger(__name__)

_ITOA64: Final = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SCRYPT: Final = re.compile(r"\$7\$(?P<n>.)(?P<r>.{5})(?P<p>.{5})(?P<salt>[^$]*)\$(?P<key>.+)")
_KEY_BYTES: Final = 32
_HIGHEST_LOG2_N: Final = 16  # 64 MiB at the usual block size: a larger value is no password of ours
_HIGHEST_R, _HIGHEST_P = 8, 4


class HostKeys:
    """One host key per instance, unchanged for its life on this host, in files that only root can read."""

    def __init__(self, root: Path) -> None:
        self._root = root
        root.mkdir(mode=0o700, parents=True, exist_ok=True)

    def of(self, instance: str) -> asyncssh.SSHKey:
        path = self._root / instance
        if not path.exists():
            self._make(path)
        return asyncssh.read_private_key(path)

    def delete(self, instance: str) -> None:
        (self._root / instance).unlink(missing_ok=True)

    def leftovers(self, instance: str) -> list[str]:
        return ["host key"] if (self._root / instance).exists() else []

    def _make(self, path: Path) -> None:
        """Write a key atomically: half a key would be another identity after the next start."""
        fresh = asyncssh.generate_private_key("ssh-ed25519").export_private_key()
        write_atomically(path, fresh, spare=path.with_name(f".{path.name}"))


def known_keys(lines: Iterable[str]) -> frozenset[bytes]:
    """Return the public keys in these lines, in the form that clients present; invalid lines are skipped."""
    found = set()
    for line in lines:
        try:
            found.add(asyncssh.import_public_key(line.strip()).public_data)
        except asyncssh.KeyImportError as error:
            logger.warning("a renter's SSH key is not understood: %s", error)
    return frozenset(found)


def is_password(word: str, hashed: str) -> bool:
    """Return whether the word has this hash, in the form `$7$` (scrypt) of crypt(3)."""
    found = _SCRYPT.fullmatch(hashed)
    if found is None:
        return False
    log2_n, block, lanes = (_number(found[name]) for name in ("n", "r", "p"))
    if not (0 < log2_n <= _HIGHEST_LOG2_N and 0 < block <= _HIGHEST_R and 0 < lanes <= _HIGHEST_P):
        return False
    memory = 128 * block * ((1 << log2_n) + lanes + 2)
    key = hashlib.scrypt(
        word.encode(), salt=found["salt"].encode(), n=1 << log2_n, r=block, p=lanes, maxmem=memory, dklen=_KEY_BYTES
    )
    return hmac.compare_digest(_encoded(key).encode(), found["key"].encode())


def _number(digits: str) -> int:
    """Decode a number, lowest six bits first; -1 if it is malformed."""
    return sum(_ITOA64.find(digit) << 6 * place for place, digit in enumerate(digits)) if set(digits) <= set(_ITOA64) else -1


def _encoded(content: bytes) -> str:
    pieces = (content[start : start + 3] for start in range(0, len(content), 3))
    return "".join(_digits(int.from_bytes(piece, "little"), 8 * len(piece)) for piece in pieces)


def _digits(value: int, bits: int) -> str:
    return "".join(_ITOA64[value >> shift & 63] for shift in range(0, bits, 6))
