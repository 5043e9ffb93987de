"""UDP probe of the reachability test: a few challenges in one datagram each, until the host answers one of them."""

import asyncio
import secrets
from contextlib import suppress
from typing import Final

from agents.protocol.port_check import CHALLENGE_BYTES, answer_to

TRIES: Final = 4  # datagrams get lost
EACH_S: Final = 0.8
_HEARD_AT_MOST: Final = 16


class _Heard(asyncio.DatagramProtocol):
    """What came back, in a queue: datagrams, and errors such as a refusal by the host."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes | Exception] = asyncio.Queue(_HEARD_AT_MOST)

    def datagram_received(self, data: bytes, addr: object) -> None:
        self._put(data)

    def error_received(self, exc: Exception) -> None:
        self._put(exc)

    def _put(self, what: bytes | Exception) -> None:
        with suppress(asyncio.QueueFull):
            self.queue.put_nowait(what)


async def probe_udp(place: str, port: int, nonce: str) -> str:
    """Return "" if the host that knows the nonce answers, else why it was not reached.

    Raises:
        OSError: The host or its network refuses the datagrams.
    """
    made = await asyncio.get_running_loop().create_datagram_endpoint(_Heard, remote_addr=(place, port))
    transport, heard = made
    right: set[bytes] = set()
    others = False
    try:
        for _ in range(TRIES):
            challenge = secrets.token_hex(CHALLENGE_BYTES).encode()
            right.add(answer_to(challenge, nonce))
            transport.sendto(challenge)
            with suppress(TimeoutError):
                async with asyncio.timeout(EACH_S):
                    while not await _is_right(heard, right):
                        others = True
                    return ""
    finally:
        transport.close()
    return "someone_else" if others else "timeout"


async def _is_right(heard: _Heard, right: set[bytes]) -> bool:
    what = await heard.queue.get()
    if isinstance(what, Exception):
        raise what
    return what in right
