"""The asynchronous client: resources, waits, and the way from a search to a running instance."""

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from berth import models
from berth._async.base import AsyncTransport
from berth._async.resources import Resources
from berth._async.transport import HttpxTransport
from berth._core.calls import Call
from berth._core.commands import END_WITHIN_S, has_ended, result_call
from berth._core.retries import RetryPolicy
from berth._core.waiting import until, until_state
from berth._core.wire import Site, path_part
from berth.errors import ConfigurationError

T = TypeVar("T")


class AsyncClient(Resources):
    """A client of one market. Tasks can share it; it keeps connections until it is closed.

    Args:
        url: Address of the market; left out, the environment's `BERTH_URL`
        token: API token; left out, `BERTH_TOKEN`; empty, none
        timeout: Seconds that one attempt may take altogether
        retries: How often and how patiently failed calls are repeated
        application: Your program's name and version, for the `User-Agent`
        transport: Another way to send requests
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        retries: RetryPolicy | None = None,
        application: str = "",
        transport: AsyncTransport | None = None,
    ) -> None:
        address = url or os.environ.get("BERTH_URL")
        if not address:
            raise ConfigurationError("Say which market: AsyncClient(url=…), or BERTH_URL in the environment.")
        secret = os.environ.get("BERTH_TOKEN") if token is None else token
        site = Site(address, secret or None, timeout, application, retries or RetryPolicy())
        super().__init__(site, transport or HttpxTransport())

    async def wait(
        self,
        instance_id: str,
        *states: str,
        timeout: float = 600.0,
        seen: Callable[[models.InstanceOut], None] | None = None,
    ) -> models.InstanceOut:
        """Return the instance once it is in one of `states` (by default running), woken by the market.

        Raises:
            WaitFailed: it failed, or was stopped or released.
            WaitTimeout: it didn't get there in time.
        """
        call = Call("GET", f"/api/v1/instances/{path_part(instance_id)}", models.InstanceOut)
        return await self.run(until_state(self.site, call, states or ("running",), timeout=timeout, seen=seen))

    async def wait_until(self, call: Call[T], done: Callable[[T], bool], *, timeout: float = 600.0) -> T:
        """Return the answer to a call once `done` accepts it, asking again whenever the market says that something changed.

        Raises:
            WaitTimeout: it didn't in time.
        """
        return await self.run(until(self.site, call, done, timeout=timeout))

    async def execute(self, instance_id: str, command: Sequence[str] | str, **options: Any) -> models.CommandOut:
        """Run a command in a running instance without SSH, and return it with its result once it has ended.

        `options` are those of `instances.exec`. The state `unknown` means that it may have run; it isn't run again.

        Raises:
            WaitTimeout: the market didn't tell its end in time; it still has it, or will, at `instances.exec_result`.
        """
        row = await self.instances.exec(instance_id, command=command, **options)
        return await self.wait_until(result_call(instance_id, row.id), has_ended, timeout=row.timeout_seconds + END_WITHIN_S)
