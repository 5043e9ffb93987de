"""One side of a copy between two hosts: blocking exchange of messages through the relay."""

import asyncio
import concurrent.futures
from types import TracebackType
from typing import Any, Final

from agents.daemon.control_plane.websocket import StreamLost, WebSocketStream, dial
from agents.protocol.codec import parse_json_object

LARGEST: Final = 1024 * 1024


class PeerConnectionLost(StreamLost):
    """The connection to the other side broke or was never made; it should be opened again."""


class PeerConnection:
    """A connection to the other side. Calls block; one thread may use it at a time, any may call `close`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, websocket: WebSocketStream) -> None:
        self._loop = loop
        self._websocket = websocket
        self._frames = aiter(websocket)

    def send(self, piece: bytes) -> None:
        """Send one message of at most LARGEST bytes; waits while the other side is slow.

        Raises:
            PeerConnectionLost: The connection broke.
        """
        if len(piece) > LARGEST:
            raise ValueError(f"A message has at most {LARGEST} bytes.")
        try:
            wait_for(self._loop, self._websocket.send(piece), 600.0)
        except (OSError, TimeoutError) as error:
            raise PeerConnectionLost(str(error)) from error

    def recv(self, timeout: float = 60.0) -> bytes:
        """Return the next whole message; empty when the other side has closed.

        Raises:
            PeerConnectionLost: None came in time.
        """
        try:
            return bytes(wait_for(self._loop, self._next(), timeout))
        except TimeoutError as error:
            self.close()
            raise PeerConnectionLost("the other side is silent") from error

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._websocket.close(), self._loop)

    def __enter__(self) -> "PeerConnection":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    async def _next(self) -> bytes:
        async for frame in self._frames:
            if isinstance(frame, bytes):
                return frame
        return b""


async def connect_to_peer(url: str, wait_s: float) -> WebSocketStream:
    """Connect to the relay, and wait until the other side is there.

    Raises:
        StreamLost: The connection failed, or the other side did not come.
    """
    websocket = await dial(url)
    try:
        async with asyncio.timeout(wait_s):
            async for frame in websocket:
                if isinstance(frame, str) and parse_json_object(frame).get("joined"):
                    return websocket
    except TimeoutError as error:
        await websocket.close()
        raise StreamLost("the other side did not come") from error
    await websocket.close()
    raise StreamLost(f"the relay closed: {websocket.verdict}")


def wait_for(loop: asyncio.AbstractEventLoop, work: Any, timeout: float) -> Any:
    """Run a coroutine on another thread's loop and return its result."""
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result(timeout)
    except concurrent.futures.TimeoutError:
        future.cancel()
        raise
