"""A release of the agent: what the market serves, and what is signed by a key that the market does not hold."""

import re
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from agents.protocol.codec import MalformedMessage, decode, encode

RELEASE_PATH: Final = "/agent/v1/release"
RELEASE_FILE: Final = "release.json"
SIGNATURE_FILE: Final = "release.sig"
REQUIREMENTS_FILE: Final = "requirements.txt"
_CONTEXT: Final = b"berth agent release\0"  # no other message under this key can pass for one
_VERSION: Final = re.compile(r"\d{1,6}(\.\d{1,6}){1,3}")
_WHEEL: Final = re.compile(r"berth_agent-[0-9.]{3,30}-py3-none-any\.whl")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_KEY: Final = re.compile(r"[0-9a-f]{64}")


class BadRelease(Exception):
    """It is not signed by the release key, or does not say what a release says."""


@dataclass(frozen=True)
class Release:
    """The wheel and the hashed list of what it needs, each with its digest."""

    version: str
    wheel: str
    wheel_sha256: str
    requirements_sha256: str


def write_release(release: Release) -> bytes:
    return encode(release)


def sign_release(content: bytes, key: Ed25519PrivateKey) -> str:
    """The signature in hex."""
    return key.sign(_CONTEXT + content).hex()


def read_release(content: bytes, signature: str, public_key: str) -> Release:
    """Raises BadRelease for anything that the holder of the release key did not sign."""
    if not _KEY.fullmatch(public_key):
        raise BadRelease("The release key is not 64 hex digits.")
    try:
        known = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        known.verify(bytes.fromhex(signature.strip()), _CONTEXT + content)
    except (InvalidSignature, ValueError) as error:
        raise BadRelease("The release is not signed by the release key that this host was given.") from error
    return unsigned_release(content)


def unsigned_release(content: bytes) -> Release:
    """What it says, whoever says it. Raises BadRelease."""
    try:
        found = decode(Release, content)
    except MalformedMessage as error:
        raise BadRelease(f"The release is not understood: {error}") from error
    parts = (
        (_VERSION, found.version),
        (_WHEEL, found.wheel),
        (_SHA256, found.wheel_sha256),
        (_SHA256, found.requirements_sha256),
    )
    if not all(pattern.fullmatch(text) for pattern, text in parts):
        raise BadRelease("The release names no version, wheel or digest.")
    return found


def version_key(text: str) -> tuple[int, ...]:
    """By which versions are compared."""
    return tuple(map(int, text.split(".")))
