"""Anchors of the ledger in an object storage.

Each is written once; every audit reads the newest and a sample of the others.
"""

import html
import re
from secrets import SystemRandom
from typing import Final

from django.conf import settings

from billing.ledger.anchors import Anchor, anchor_name, parse_anchor
from common.http.outbound import OutboundFault, OutboundResponse
from common.object_store import Place, send

READ_NEWEST: Final = 100
READ_OTHERS: Final = 100
"""Number of older anchors that each audit reads, chosen at random."""

_PAGE: Final = 500
_OK, _NOT_FOUND, _THERE_ALREADY, _AT_ONCE = 200, 404, 412, 409
_KEY: Final = re.compile(r"<Key>([^<]*)</Key>")
_NEXT: Final = re.compile(r"<NextContinuationToken>([^<]*)</NextContinuationToken>")


class AnchorStoreFailed(OSError):
    """Raised when the object storage cannot be reached or does not do what was requested."""


def anchor_place() -> Place | None:
    """Return the configured object storage for anchors, or None."""
    return Place(**settings.LEDGER_ANCHOR_STORE) if settings.LEDGER_ANCHOR_STORE else None


def put_anchor(place: Place, number: int, text: str) -> bool:
    """Write an anchor once; return False when it exists already.

    Raises:
        AnchorStoreFailed: the object storage failed.
    """
    name = place.named(anchor_name(number))
    if _request(place, "GET", name, fine=(_OK, _NOT_FOUND)).status == _OK:
        return False
    # Where the object storage supports the condition, a writer that was faster since the check above wins.
    only_new = {"If-None-Match": "*", "Content-Type": "application/json"}
    answer = _request(place, "PUT", name, body=text.encode(), headers=only_new, fine=(_OK, _THERE_ALREADY, _AT_ONCE))
    return answer.status == _OK


def stored_anchors(place: Place) -> list[Anchor]:
    """Return the newest anchors and a random sample of the others, ordered by number.

    Raises:
        AnchorStoreFailed: the object storage failed.
    """
    names = sorted(_names(place))
    older = names[:-READ_NEWEST]
    chosen = sorted(SystemRandom().sample(older, min(len(older), READ_OTHERS))) + names[-READ_NEWEST:]
    return [_read(place, name) for name in chosen]


def _names(place: Place) -> list[str]:
    found: list[str] = []
    query = [("list-type", "2"), ("max-keys", str(_PAGE)), ("prefix", place.named("seal-"))]
    more: list[tuple[str, str]] = []
    while True:
        page = _request(place, "GET", "", query=[*query, *more], fine=(_OK,)).body.decode(errors="replace")
        found += [html.unescape(name) for name in _KEY.findall(page)]
        token = _NEXT.search(page)
        if token is None:
            return found
        more = [("continuation-token", html.unescape(token[1]))]


def _read(place: Place, name: str) -> Anchor:
    text = _request(place, "GET", name, fine=(_OK,)).body.decode(errors="replace")
    return parse_anchor(f"{place.bucket}/{name}", text)


def _request(
    place: Place,
    method: str,
    name: str,
    *,
    fine: tuple[int, ...],
    query: list[tuple[str, str]] | None = None,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
) -> OutboundResponse:
    try:
        answer = send(place, method, name, query=query or (), body=body, headers=headers)
    except OutboundFault as fault:
        raise AnchorStoreFailed(f"{place.host} can't be reached: {fault.detail}") from fault
    if answer.status not in fine:
        raise AnchorStoreFailed(f"{place.host} answers {method} with status {answer.status}")
    return answer
