"""Time and size limits for HTTP request heads; uvicorn alone would wait and buffer without limit."""

import asyncio
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_S: Final = 20.0
HEAD_BYTES: Final = 64 * 1024


class BoundedHttp(HttpToolsProtocol):
    """HTTP protocol that closes a connection whose request head is too slow or too large."""

    _patience: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's own
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        self._head_bytes += len(data)
        super().data_received(data)
        if self._patience is not None and self._head_bytes > HEAD_BYTES:
            self._hang_up()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_head()

    def on_headers_complete(self) -> None:
        self._head_has_come()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_has_come()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        if self._patience is None:
            self._head_bytes = 0
            self._patience = self.loop.call_later(HEAD_S, self._hang_up)

    def _head_has_come(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _hang_up(self) -> None:
        self._head_has_come()
        self.transport.abort()
