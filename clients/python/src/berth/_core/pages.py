"""Where the next page of a list is."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar
from urllib.parse import parse_qs, urlsplit

from berth._core.calls import Call

T = TypeVar("T")


class Page(Protocol):
    """What the pages of all lists have in common."""

    @property
    def next(self) -> str | None: ...

    @property
    def results(self) -> Sequence[Any]: ...


def next_call(call: Call[T], link: str | None) -> Call[T] | None:
    """Return the call for the next page, or None after the last.

    Only the cursor is taken from the link: its host is the market's idea of its own name, and may not be ours.
    """
    found = parse_qs(urlsplit(link).query).get("cursor") if link else None
    if not found or call.query.get("cursor") == found[0]:
        return None
    return replace(call, query={**call.query, "cursor": found[0]})
