"""A program beside the container's first one, as the streams' event loop holds it."""

import asyncio
import socket

from agents.daemon.engine.exec_interface import Command, SimulatedExec
from agents.daemon.engine.exec_stream import Program


class Deaf(SimulatedExec):
    """Its only program takes no input at all, and says nothing."""

    def __init__(self) -> None:
        self.connection, self.far = socket.socketpair()
        self.first = b""

    def command(self, *_: object) -> Command:
        return self

    def exit_code(self) -> int | None:
        return None


def test_letting_go_of_a_program_that_takes_nothing_leaves_no_connection() -> None:
    exec_interface = Deaf()

    async def story() -> None:
        program = await Program.start(exec_interface, "instance", ["sleep"], {})
        giving = asyncio.create_task(program.write(bytes(2**23)))
        await asyncio.sleep(0.05)
        assert not giving.done()
        giving.cancel()
        program.close()

    with exec_interface.far:
        asyncio.run(story())
        assert exec_interface.connection.fileno() == -1, "closed, although its input was still to be written"
