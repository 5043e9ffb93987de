"""Runs scripts: sends what they ask for, and sleeps when they say so."""

import time
from types import TracebackType
from typing import Protocol, Self, TypeVar

from berth._core.calls import Call, Fault, Pause, Reply, Request
from berth._core.wire import Script, Site, exchange

T = TypeVar("T")


class Transport(Protocol):
    """Sends one request. What prevents a complete reply is a `Fault`, not an exception."""

    def send(self, request: Request) -> Reply | Fault: ...

    def close(self) -> None: ...


class ClientBase:
    """A site and a transport."""

    def __init__(self, site: Site, transport: Transport) -> None:
        self.site = site
        self._transport = transport

    def send(self, call: Call[T]) -> T:
        """Return the answer to one call, after as many attempts as it takes."""
        return self.run(exchange(call, self.site))

    def run(self, script: Script[T]) -> T:
        outcome: Reply | Fault | None = None
        while True:
            try:
                step = script.send(outcome)
            except StopIteration as end:
                result: T = end.value
                return result
            if isinstance(step, Pause):
                time.sleep(step.seconds)
                outcome = None
            else:
                outcome = self._transport.send(step)

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
