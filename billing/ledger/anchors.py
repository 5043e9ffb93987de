"""Anchors of the ledger: the head of the latest seal as a signed file outside the database.

Users of the database cannot write where they are kept.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.conf import settings

from billing.ledger.signing import canonical, key_id, public_key, sign

_NAME: Final = "seal-{:09d}.json"
_KEYS: Final = ("number", "head", "upto", "records_upto", "sealed_at", "site", "currency", "key_id")


@dataclass(frozen=True)
class Anchor:
    """Contents of an anchor file about one seal, and whether the market's key has signed them."""

    name: str
    number: int
    head: str
    is_signed: bool


def anchor_text(*, number: int, head: str, upto: int, records_upto: int, sealed_at: str) -> str:
    """Return the file's content: the seal, signed as usage records are (Ed25519, docs/proof.md)."""
    record: dict[str, Any] = {
        "number": number,
        "head": head,
        "upto": upto,
        "records_upto": records_upto,
        "sealed_at": sealed_at,
        "site": settings.SITE_URL,
        "currency": settings.MARKET_CURRENCY,
        "key_id": key_id(),
    }
    return json.dumps({**record, "signature": sign(record)}, indent=2) + "\n"


def anchor_name(number: int) -> str:
    return _NAME.format(number)


def write_anchor(folder: Path, number: int, text: str) -> bool:
    """Write an anchor once; return False when it exists.

    An existing file is never replaced, and only a complete one gets the name.

    Raises:
        OSError: the folder cannot be written.
    """
    path = folder / anchor_name(number)
    if path.exists():
        return False
    draft = path.with_suffix(".part")
    draft.write_text(text, encoding="utf-8")
    try:
        path.hardlink_to(draft)  # unlike a rename, it fails if another writer was faster
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


def read_anchors(folder: Path) -> list[Anchor]:
    """Return all anchors of a folder by number; one that cannot be read counts as not signed.

    Raises:
        OSError: the folder cannot be read.
    """
    paths = (path for path in sorted(folder.iterdir()) if path.match("seal-*.json"))
    return [parse_anchor(path.name, path.read_bytes().decode(errors="replace")) for path in paths]


def parse_anchor(name: str, text: str) -> Anchor:
    """Return the anchor in a text; one that cannot be read counts as not signed."""
    try:
        found = json.loads(text)
        record = {key: found[key] for key in _KEYS}
        return Anchor(name, int(found["number"]), str(found["head"]), _is_signed(record, found["signature"]))
    except (ValueError, KeyError, TypeError):
        return Anchor(name, 0, "", False)


def _is_signed(record: dict[str, Any], signature: str) -> bool:
    """Return whether the present key or a former one has signed the record."""
    for key in (public_key(), *settings.LEDGER_FORMER_KEYS):
        try:
            Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(bytes.fromhex(signature), canonical(record))
        except InvalidSignature:
            continue
        return True
    return False
