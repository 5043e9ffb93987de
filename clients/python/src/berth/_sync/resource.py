"""What every resource has: a client that sends, and lists that are walked page by page."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Generic, TypeVar
from uuid import uuid4

from berth._core.calls import Call
from berth._core.pages import Page, next_call
from berth._core.wire import path_part

if TYPE_CHECKING:
    from berth._sync.base import ClientBase

T = TypeVar("T")
P = TypeVar("P", bound=Page)
R = TypeVar("R")


class Pager(Generic[P, R]):
    """A list that is asked for page by page while it is walked: `for each in client.instances.list(): …`."""

    def __init__(self, client: "ClientBase", call: Call[P]) -> None:
        self._client, self._call = client, call

    def pages(self) -> Iterator[P]:
        call: Call[P] | None = self._call
        while call is not None:
            page = self._client.send(call)
            yield page
            call = next_call(call, page.next)

    def first(self) -> P:
        """Return the first page, with what it says about the whole list."""
        return self._client.send(self._call)

    def __iter__(self) -> Iterator[R]:
        for page in self.pages():
            yield from page.results


class Resource:
    """One part of the API."""

    def __init__(self, client: "ClientBase") -> None:
        self._client = client

    def _send(self, call: Call[T]) -> T:
        return self._client.send(call)

    def _pages(self, call: Call[P], _: type[R]) -> Pager[P, R]:
        return Pager(self._client, call)

    @staticmethod
    def _key(own: str | None) -> str:
        return own or uuid4().hex

    @staticmethod
    def _part(value: str) -> str:
        return path_part(value)
