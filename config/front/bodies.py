"""Reads the body of a request to its end, within a size and a time."""

import asyncio

from granian.rsgi import HTTPProtocol, Scope  # type: ignore[attr-defined]  # public, though not re-exported by name

from config.front.policy import BODIES_BYTES, BodyLimit
from config.front.refusals import BUSY, TOO_LATE, Refusal, too_large


class NotRead(Exception):
    """The body was refused."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal.error))
        self.refusal = refusal


class Bodies:
    """The bodies that a process is reading. To be used on its event loop alone."""

    def __init__(self, most: int = BODIES_BYTES) -> None:
        self._left = most

    async def read(self, scope: Scope, proto: HTTPProtocol, limit: BodyLimit) -> bytes:
        """Raises NotRead; what granian raises when the client has gone comes through."""
        announced = _announced(scope, limit)
        if announced == 0:
            return b""
        if announced > self._left:
            raise NotRead(BUSY)
        self._left -= announced
        try:
            async with asyncio.timeout(limit.seconds):
                return await _whole(proto, limit, is_counted="content-length" in scope.headers)
        except TimeoutError:
            raise NotRead(TOO_LATE) from None
        finally:
            self._left += announced


def _announced(scope: Scope, limit: BodyLimit) -> int:
    """The length of the body, or what it may be where that is not said. Raises NotRead."""
    length = scope.headers.get("content-length")
    if length is None:
        return limit.size if "transfer-encoding" in scope.headers else 0
    if int(length) > limit.size:  # digits alone: granian refuses anything else
        raise NotRead(too_large(limit.size))
    return int(length)


async def _whole(proto: HTTPProtocol, limit: BodyLimit, *, is_counted: bool) -> bytes:
    if is_counted:
        return await proto()
    body = bytearray()
    async for piece in proto:
        body += piece
        if len(body) > limit.size:
            raise NotRead(too_large(limit.size))
    return bytes(body)
