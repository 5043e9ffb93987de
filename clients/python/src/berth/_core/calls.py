"""A call of the API as data, and what a driver exchanges for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_REPEATABLE_METHODS = frozenset({"GET", "HEAD", "PUT", "DELETE"})


@dataclass(frozen=True)
class Call(Generic[T]):
    """One operation with its arguments; `UNSET` values are left out.

    `key` is the `Idempotency-Key` of a POST. It belongs to the call, so that every attempt carries the same one.
    """

    method: str
    path: str
    answer: type[T]
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = field(default=None, repr=False)  # it may hold secrets, and reports of faults repr
    dry_run: bool = False
    key: str | None = None
    timeout: float | None = None
    anonymous: bool = False  # to an address that has its own ticket: it doesn't get the token

    @property
    def repeatable(self) -> bool:
        """Return whether a second attempt can't do more than the first."""
        return self.method in _REPEATABLE_METHODS or self.key is not None or self.dry_run


@dataclass(frozen=True)
class Request:
    """What a driver sends."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)  # the token is in there
    body: bytes | None = field(repr=False)
    timeout: float


@dataclass(frozen=True)
class Reply:
    """What came back, complete; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Fault:
    """Why no complete reply came. `sent`: the market may have got the request, and acted."""

    detail: str
    sent: bool
    timed_out: bool = False


@dataclass(frozen=True)
class Pause:
    """What a driver waits before the next step."""

    seconds: float
