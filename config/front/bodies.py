"""Reading of request bodies, within limits of size and time."""

import asyncio

from granian.rsgi import HTTPProtocol, Scope  # type: ignore[attr-defined] # public, though not re-exported by name

from config.front.policy import ALWAYS_BYTES, BODIES_BYTES, BodyLimit
from config.front.refusals import BUSY, TOO_LATE, Refusal, too_large


class BodyRefused(Exception):
    """The body was refused."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal.error))
        self.refusal = refusal


class BodyReader:
    """Bodies that the process is reading, with their total size. For its event loop alone."""

    def __init__(self, most: int = BODIES_BYTES) -> None:
        self._left = most

    async def read(self, scope: Scope, proto: HTTPProtocol, limit: BodyLimit) -> bytes:
        """Read a body completely; granian's error for a lost client is passed on.

        Raises:
            BodyRefused: It is too large or too slow, or the bodies being read take too much memory.
        """
        announced = _announced(scope, limit)
        if announced == 0:
            return b""
        try:
            async with asyncio.timeout(limit.seconds):
                body = await self._whole(proto, limit)
        except TimeoutError:
            raise BodyRefused(TOO_LATE) from None
        if announced is not None and len(body) != announced:
            raise BodyRefused(TOO_LATE)  # the client has hung up
        return body

    async def _whole(self, proto: HTTPProtocol, limit: BodyLimit) -> bytes:
        body, held = bytearray(), 0
        try:
            async for piece in proto:
                body += piece
                if len(body) > limit.size:
                    raise BodyRefused(too_large(limit.size))
                more = max(0, len(body) - ALWAYS_BYTES) - held
                if more > self._left:
                    raise BodyRefused(BUSY)
                self._left -= more
                held += more
        finally:
            self._left += held
        return bytes(body)


def _announced(scope: Scope, limit: BodyLimit) -> int | None:
    """Return the announced length of the body; None if it is not announced.

    Raises:
        BodyRefused: It exceeds the limit.
    """
    length = scope.headers.get("content-length")
    if length is None:
        return None if "transfer-encoding" in scope.headers else 0
    if int(length) > limit.size:  # only digits: granian refuses anything else
        raise BodyRefused(too_large(limit.size))
    return int(length)
