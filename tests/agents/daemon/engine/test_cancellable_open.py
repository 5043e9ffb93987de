"""What a thread opens while the task that asked for it ends: nothing of it may stay open."""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from agents.daemon.engine.exec_interface import Command, SimulatedExec, Terminal
from agents.daemon.engine.exec_stream import Program, open_in_thread
from agents.daemon.ssh.session import TerminalProgram
from agents.daemon.streams.terminals import Terminals


class Slow(SimulatedExec):
    """Each way in is being opened until `go`."""

    first = b""

    def __init__(self) -> None:
        self.connection, self.far = socket.socketpair()
        self.asked, self.go = threading.Event(), threading.Event()

    def connect(self, instance: str, port: int) -> socket.socket:
        self.asked.set()
        assert self.go.wait(10)
        return self.connection

    def command(self, *_: object) -> Command:
        self.connect("", 0)
        return self

    def terminal(self, *_: object) -> Terminal:
        self.connect("", 0)
        return self

    screen = terminal

    def resize(self, columns: int, rows: int) -> None:
        return None

    def exit_code(self) -> int | None:
        return None


WAYS: dict[str, Callable[[Slow], Coroutine[Any, Any, object]]] = {
    "port": lambda exec_interface: open_in_thread(exec_interface.connect, "instance", 80),
    "program": lambda exec_interface: Program.start(exec_interface, "instance", ["sleep"], {}),
    "terminal": lambda exec_interface: Terminals(exec_interface).open("instance", "session", "80x24"),
    "screen": lambda exec_interface: TerminalProgram.show(exec_interface, "instance", ["sh"], {}),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_being_opened_when_the_loop_ends_is_closed(way: str) -> None:
    exec_interface = Slow()
    kept = []

    async def story() -> None:
        kept.append(asyncio.create_task(WAYS[way](exec_interface)))
        assert await asyncio.to_thread(exec_interface.asked.wait, 10)
        asyncio.get_running_loop().call_soon(threading.Timer(0.1, exec_interface.go.set).start)

    with exec_interface.far:
        asyncio.run(story())
        assert exec_interface.connection.fileno() == -1


@pytest.mark.parametrize("way", WAYS)
def test_what_is_open_when_nobody_waits_any_more_is_closed(way: str) -> None:
    exec_interface = Slow()

    async def story() -> None:
        opening = asyncio.create_task(WAYS[way](exec_interface))
        assert await asyncio.to_thread(exec_interface.asked.wait, 10)
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
        assert exec_interface.connection.fileno() != -1
        exec_interface.go.set()
        exec_interface.far.settimeout(10)
        assert await asyncio.to_thread(exec_interface.far.recv, 1) == b"", "hung up"

    with exec_interface.far:
        asyncio.run(story())
        assert exec_interface.connection.fileno() == -1
