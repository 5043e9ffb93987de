"""A client of an instance's files, as a script would be: requests one after another on one stream."""

import hashlib
import json
from typing import Any

from websockets.asyncio.client import ClientConnection

PIECE = 128 * 1024


class Refused(Exception):
    """The agent said no."""

    def __init__(self, words: dict[str, Any]) -> None:
        super().__init__(words.get("detail", ""))
        self.code = words.get("code", "")


class FileClient:
    """Asks over an open WebSocket."""

    def __init__(self, ws: ClientConnection) -> None:
        self.ws = ws

    async def word(self) -> dict[str, Any]:
        """The next word, passing over bytes."""
        while True:
            frame = await self.ws.recv()
            if isinstance(frame, str):
                words: dict[str, Any] = json.loads(frame)
                if words.get("ok") is False:
                    raise Refused(words)
                return words

    async def say(self, **words: Any) -> None:
        await self.ws.send(json.dumps(words))

    async def ask(self, do: str, **more: Any) -> dict[str, Any]:
        """The last word of the answer."""
        await self.say(do=do, **more)
        while "ok" not in (words := await self.word()):
            continue
        return words

    async def refusal(self, do: str, **more: Any) -> str:
        try:
            await self.ask(do, **more)
        except Refused as error:
            return str(error.code)
        return ""

    async def list(self, path: str) -> dict[str, dict[str, Any]]:
        await self.say(do="list", path=path)
        found: dict[str, dict[str, Any]] = {}
        while "ok" not in (words := await self.word()):
            found |= {entry["name"]: entry for entry in words["entries"]}
        return found

    async def write(self, path: str, content: bytes, *, cut_at: int | None = None, early: bool = True, **more: Any) -> str:
        """The checksum that the instance found. With `cut_at` the connection breaks when so much was written."""
        sum_ = {"sha256": hashlib.sha256(content).hexdigest()}
        await self.say(do="write", path=path, size=len(content), **(sum_ if early else {}), **more)
        at = (await self.word())["offset"]
        while at < len(content):
            piece = content[at : at + PIECE]
            await self.ws.send(piece)
            at += len(piece)
            if cut_at is not None and at >= cut_at:
                while (await self.word())["got"] < cut_at:
                    continue
                self.ws.transport.abort()
                return ""
        await self.say(eof=True, **({} if early else sum_))
        while "ok" not in (words := await self.word()):
            continue
        return str(words["sha256"])

    async def read(self, path: str = "", **more: Any) -> bytes:
        await self.say(do="read", path=path, **more)
        content = b""
        while True:
            frame = await self.ws.recv()
            if isinstance(frame, bytes):
                content += frame
                continue
            words = json.loads(frame)
            if words.get("ok") is False:
                raise Refused(words)
            if "ok" in words:
                return content
