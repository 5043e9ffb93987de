"""Release of the agent: what the market serves of it, and what the release key signs."""

import re
from dataclasses import dataclass
from typing import Final

from agents.protocol.codec import MalformedMessage, decode, encode

RELEASE_PATH: Final = "/agent/v1/release"
RELEASE_FILE: Final = "release.json"
SIGNATURE_FILE: Final = "release.sig"
REQUIREMENTS_FILE: Final = "requirements.txt"
_CONTEXT: Final = b"berth agent release\0"  # keeps a signature of anything else from being accepted as a release's
_VERSION: Final = re.compile(r"\d{1,6}(\.\d{1,6}){1,3}")
_WHEEL: Final = re.compile(r"berth_agent-[0-9.]{3,30}-py3-none-any\.whl")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


class BadRelease(Exception):
    """The release is not signed by the release key, or its content is not a release description."""


@dataclass(frozen=True)
class Release:
    """A wheel and the requirements file with hashes, each with its own digest."""

    version: str
    wheel: str
    wheel_sha256: str
    requirements_sha256: str


def write_release(release: Release) -> bytes:
    return encode(release)


def signed_bytes(content: bytes) -> bytes:
    """Return the bytes that the release key signs."""
    return _CONTEXT + content


def read_release(content: bytes) -> Release:
    """Parse a release description without checking its signature, which the agent does.

    Raises:
        BadRelease: The content is malformed.
    """
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
    """Return the key by which versions are sorted."""
    return tuple(map(int, text.split(".")))
