"""Ask every request to the LLM server for its key: vLLM's own check leaves most paths open, Transformers has none."""

import os
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

_OPEN: Final = "/health"  # the market's readiness check has no key
_REFUSAL: Final = b'{"error": {"message": "The API key is missing or wrong.", "code": "invalid_api_key"}}'
_HEADERS: Final = (
    (b"content-type", b"application/json"),
    (b"content-length", str(len(_REFUSAL)).encode()),
    (b"www-authenticate", b"Bearer"),
)


class AskForKey:
    """ASGI middleware: refuse requests and websockets without `Authorization: Bearer KEY`, KEY being BERTH_API_KEY."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._wanted = f"Bearer {os.environ['BERTH_API_KEY']}".encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or self._may_pass(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await send({"type": "http.response.start", "status": 401, "headers": list(_HEADERS)})
            await send({"type": "http.response.body", "body": _REFUSAL})

    def _may_pass(self, scope: Message) -> bool:
        # The path that is routed. A framework's request.url is made with the Host header, which the client writes.
        if scope["path"] == _OPEN:
            return True
        authorization = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        return secrets.compare_digest(authorization, self._wanted)
