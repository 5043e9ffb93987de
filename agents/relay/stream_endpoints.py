"""Common interface for both ends of a stream, a WebSocket or TCP connection, with backpressure."""

import asyncio
from contextlib import suppress
from typing import Final, Protocol

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from agents.protocol.codec import parse_json_object

PIECE: Final = 64 * 1024
CLOSE_S: Final = 3.0  # for the close frame to reach the other side's buffers
EOF_TEXT: Final = '{"eof":true}'

Frame = bytes | str  # data of the stream, or a control message as JSON


class StreamEnd(Protocol):
    """One end of a stream: `receive` returns None once it is closed, `send` waits while the peer is slow."""

    async def receive(self) -> Frame | None: ...

    async def send(self, frame: Frame) -> None: ...

    async def close(self, code: int = 1000, reason: str = "") -> None: ...


class WebSocketEnd:
    """An accepted WebSocket; its handler must not return until `over` is set, which closing it does."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self.over = asyncio.Event()

    async def receive(self) -> Frame | None:
        message = await self._socket.receive()
        if message["type"] != "websocket.receive":
            return None
        piece: Frame | None = message.get("bytes")
        return message.get("text", "") if piece is None else piece

    async def send(self, frame: Frame) -> None:
        try:
            if isinstance(frame, str):
                await self._socket.send_text(frame)
            else:
                await self._socket.send_bytes(frame)
        except (
            WebSocketDisconnect,
            RuntimeError,
        ) as error:  # closed meanwhile; the error depends on which side was first
            raise ConnectionError("The stream is closed.") from error

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close the WebSocket; a client that does not read gets no close frame after CLOSE_S."""
        self.over.set()
        if WebSocketState.DISCONNECTED in (self._socket.application_state, self._socket.client_state):
            return
        with suppress(WebSocketDisconnect, RuntimeError, TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self._socket.close(code, reason[:120])


class TcpEnd:
    """A TCP connection; its end of input is sent as a control message, so the other direction stays open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._ended = asyncio.Event()
        self._end_returned = False

    async def receive(self) -> Frame | None:
        if self._end_returned:
            await self._ended.wait()
            return None
        piece = await self._reader.read(PIECE)
        if piece:
            return piece
        self._end_returned = True
        return EOF_TEXT

    async def send(self, frame: Frame) -> None:
        if isinstance(frame, bytes):
            self._writer.write(frame)
            await self._writer.drain()
        elif parse_json_object(frame).get("eof") and self._writer.can_write_eof():
            self._writer.write_eof()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        self._ended.set()
        self._writer.close()


class Channel:
    """A stream that the relay itself uses: the bytes of a TCP connection to a port inside an instance."""

    def __init__(self, end: StreamEnd) -> None:
        self._end = end
        self._over = False

    async def read(self) -> bytes:
        """Return the next bytes; empty once the other side has sent all."""
        while not self._over:
            frame = await self._end.receive()
            if frame is None or (isinstance(frame, str) and parse_json_object(frame).get("eof")):
                self._over = True
            elif isinstance(frame, bytes) and frame:
                return frame
        return b""

    async def write(self, piece: bytes) -> None:
        await self._end.send(piece)

    async def write_eof(self) -> None:
        await self._end.send(EOF_TEXT)

    async def close(self) -> None:
        await self._end.close()


async def join(one: StreamEnd, other: StreamEnd) -> None:
    """Copy data both ways until either end closes; then close both."""
    tasks = [asyncio.create_task(_copy(one, other)), asyncio.create_task(_copy(other, one))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for end in (one, other):
            await end.close()


async def _copy(source: StreamEnd, target: StreamEnd) -> None:
    try:
        while (frame := await source.receive()) is not None:
            await target.send(frame)
    except OSError:
        return
