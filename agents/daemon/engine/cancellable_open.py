"""Opening of connections in threads for tasks that may be cancelled, since a thread cannot be."""

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from agents.daemon.engine.exec_interface import Command, Terminal

Opened = TypeVar("Opened", socket.socket, Command, Terminal)


async def opened(call: Callable[..., Opened], *arguments: object) -> Opened:
    """Return what `call` opens in a thread; if the task is cancelled, close it as soon as it is open.

    `asyncio.to_thread` would lose it: the result is dropped with the task, and all tasks end with the loop.
    """
    opening = asyncio.get_running_loop().run_in_executor(None, partial(call, *arguments))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_let_go)
        raise


def _let_go(opening: "asyncio.Future[Opened]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        made = opening.result()
        (made if isinstance(made, socket.socket) else made.connection).close()
