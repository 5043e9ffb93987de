"""Runs scripts on asyncio or trio: sends what they ask for, and sleeps when they say so."""

from types import TracebackType
from typing import Protocol, Self, TypeVar

import anyio

from berth._core.calls import Call, Fault, Pause, Reply, Request
from berth._core.wire import Script, Site, exchange

T = TypeVar("T")


class AsyncTransport(Protocol):
    """Sends one request. What prevents a complete reply is a `Fault`, not an exception."""

    async def send(self, request: Request) -> Reply | Fault: ...

    async def close(self) -> None: ...


class AsyncClientBase:
    """A site and a transport."""

    def __init__(self, site: Site, transport: AsyncTransport) -> None:
        self.site = site
        self._transport = transport

    async def send(self, call: Call[T]) -> T:
        """Return the answer to one call, after as many attempts as it takes."""
        return await self.run(exchange(call, self.site))

    async def run(self, script: Script[T]) -> T:
        outcome: Reply | Fault | None = None
        while True:
            try:
                step = script.send(outcome)
            except StopIteration as end:
                result: T = end.value
                return result
            if isinstance(step, Pause):
                await anyio.sleep(step.seconds)
                outcome = None
            else:
                outcome = await self._transport.send(step)

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
