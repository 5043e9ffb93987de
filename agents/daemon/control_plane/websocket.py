"""WebSocket connection from the agent to the relay, carrying binary data and JSON control messages."""

import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from agents.daemon import __version__
from agents.daemon.control_plane.tls import trust

OPEN_S: Final = 10.0
CLOSE_S: Final = 2.0
PING_S: Final = 20.0
MESSAGE_BYTES: Final = 2 * 1024 * 1024
MESSAGES_AHEAD: Final = 2  # each of a connection whose reader is slow lies in memory

Frame = bytes | str


class StreamLost(OSError):
    """The connection to the relay broke, or could not be opened."""


class WebSocketStream:
    """A WebSocket to the relay.

    Iteration reads until the other side closes; `send` waits while the other side is slow.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def send(self, frame: Frame) -> None:
        try:
            await self._socket.send(frame)
        except (WebSocketException, OSError) as error:
            raise StreamLost(str(error)) from error

    async def send_json(self, **words: object) -> None:
        await self.send(json.dumps(words))

    async def __aiter__(self) -> AsyncIterator[Frame]:
        with suppress(WebSocketException, OSError):
            async for frame in self._socket:
                yield frame

    @property
    def verdict(self) -> str:
        """Return the code and the reason with which the other side closed."""
        return f"{self._socket.close_code} {self._socket.close_reason or ''}".strip()

    async def close(self) -> None:
        with suppress(WebSocketException, OSError):
            await self._socket.close()


async def dial(url: str, *, watch: bool = False) -> WebSocketStream:
    """Open a WebSocket; `watch` closes it when the other side stops answering pings.

    Data streams do without `watch`, since they may stand still.

    Raises:
        StreamLost: The connection could not be opened.
    """
    secure: dict[str, Any] = {"ssl": trust()} if url.startswith("wss:") else {}
    try:
        socket = await connect(
            url,
            compression=None,
            max_size=MESSAGE_BYTES,
            max_queue=MESSAGES_AHEAD,
            open_timeout=OPEN_S,
            close_timeout=CLOSE_S,
            ping_interval=PING_S,
            ping_timeout=PING_S if watch else None,
            user_agent_header=f"berth-agent/{__version__}",
            **secure,
        )
    except (WebSocketException, OSError, ValueError) as error:
        raise StreamLost(f"{type(error).__name__}: {error}") from error
    return WebSocketStream(socket)
