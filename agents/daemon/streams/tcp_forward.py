"""TCP connection to a port inside an instance, carried over a stream with backpressure."""

import asyncio
import socket
from typing import Final

from agents.daemon.control_plane.websocket import StreamLost, WebSocketStream
from agents.protocol.codec import parse_json_object

PIECE: Final = 64 * 1024


async def forward(websocket: WebSocketStream, inside: socket.socket) -> None:
    """Copy both ways, each until its own end of input, or until either side is gone; then close both."""
    inside.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=inside, limit=PIECE)
    tasks = [asyncio.create_task(_outwards(reader, websocket)), asyncio.create_task(_inwards(websocket, writer))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        writer.close()
        await websocket.close()


async def _outwards(reader: asyncio.StreamReader, websocket: WebSocketStream) -> None:
    while piece := await reader.read(PIECE):
        await websocket.send(piece)
    await websocket.send_json(eof=True)


async def _inwards(websocket: WebSocketStream, writer: asyncio.StreamWriter) -> None:
    async for frame in websocket:
        if isinstance(frame, bytes):
            writer.write(frame)
            await writer.drain()
        elif parse_json_object(frame).get("eof"):
            if writer.can_write_eof():
                writer.write_eof()
            return
    raise StreamLost("the other side has hung up")
