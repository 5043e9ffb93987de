"""What every resource has: a client that sends, and lists that are walked page by page."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Generic, TypeVar
from uuid import uuid4

from berth._core.calls import Call
from berth._core.pages import Page, next_call
from berth._core.wire import path_part

if TYPE_CHECKING:
    from berth._async.base import AsyncClientBase

T = TypeVar("T")
P = TypeVar("P", bound=Page)
R = TypeVar("R")


class AsyncPager(Generic[P, R]):
    """A list that is asked for page by page while it is walked: `async for each in client.instances.list(): …`."""

    def __init__(self, client: "AsyncClientBase", call: Call[P]) -> None:
        self._client, self._call = client, call

    async def pages(self) -> AsyncIterator[P]:
        call: Call[P] | None = self._call
        while call is not None:
            page = await self._client.send(call)
            yield page
            call = next_call(call, page.next)

    async def first(self) -> P:
        """Return the first page, with what it says about the whole list."""
        return await self._client.send(self._call)

    async def __aiter__(self) -> AsyncIterator[R]:
        async for page in self.pages():
            for each in page.results:
                yield each


class AsyncResource:
    """One part of the API."""

    def __init__(self, client: "AsyncClientBase") -> None:
        self._client = client

    async def _send(self, call: Call[T]) -> T:
        return await self._client.send(call)

    def _pages(self, call: Call[P], _: type[R]) -> AsyncPager[P, R]:
        return AsyncPager(self._client, call)

    @staticmethod
    def _key(own: str | None) -> str:
        return own or uuid4().hex

    @staticmethod
    def _part(value: str) -> str:
        return path_part(value)
