"""Comparison of the chain of seals with its anchors outside the database."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from django.conf import settings

from billing.findings import Finding
from billing.ledger.anchor_store import anchor_place, stored_anchors
from billing.ledger.anchors import Anchor, read_anchors
from billing.models import Seal

_SAYS: Final = "the chain has each seal that was anchored outside the database, with the head that it had"


def anchor_findings() -> list[Finding]:
    """Return differences to the anchors in the folder and the object storage.

    The list is empty where neither is configured, or before the first seal.
    """
    found = []
    if settings.LEDGER_ANCHOR_DIR:
        folder = Path(settings.LEDGER_ANCHOR_DIR)
        if folder.exists() or Seal.objects.exists():  # the first seal creates it
            found += _compared(str(folder), lambda: read_anchors(folder))
    if place := anchor_place():
        found += _compared(f"{place.host}/{place.bucket}", lambda: stored_anchors(place))
    return found


def _compared(where: str, read: Callable[[], list[Anchor]]) -> list[Finding]:
    try:
        anchors = read()
    except OSError as error:
        return [_finding(where, f"it cannot be read: {error}")]
    heads = dict(Seal.objects.filter(number__in=[anchor.number for anchor in anchors]).values_list("number", "head"))
    return [_finding(anchor.name, words) for anchor in anchors if (words := _difference(anchor, heads))]


def head_findings(number: int, head: str) -> list[Finding]:
    """Return the difference to a head recorded elsewhere, such as the one in yesterday's mail."""
    anchor = Anchor(f"seal {number}", number, head, is_signed=True)
    heads = dict(Seal.objects.filter(number=number).values_list("number", "head"))
    words = _difference(anchor, heads)
    return [_finding(anchor.name, words)] if words else []


def _difference(anchor: Anchor, heads: dict[int, str]) -> str:
    if not anchor.is_signed:
        return "it is damaged, or none of the market's keys has signed it"
    if anchor.number not in heads:
        return f"seal {anchor.number} is missing, its head was {anchor.head[:16]}"
    if heads[anchor.number] != anchor.head:
        return f"the head of seal {anchor.number} was {anchor.head[:16]}, now {heads[anchor.number][:16]}"
    return ""


def _finding(subject: str, detail: str) -> Finding:
    return Finding("I11", _SAYS, f"anchor {subject}", detail)
