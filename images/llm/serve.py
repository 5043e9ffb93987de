"""Run `transformers serve`, which has no keys of its own, so that every request but /health must bring the key."""

import os
import secrets
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from transformers.cli import transformers as command
from transformers.cli.serving import server

_KEY = os.environ["BERTH_API_KEY"]
_build = server.build_server


async def _ask_for_key(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if request.url.path == "/health" or secrets.compare_digest(given.encode(), _KEY.encode()):
        return await answer(request)
    return JSONResponse({"error": {"message": "The API key is missing or wrong.", "code": "invalid_api_key"}}, 401)


def _with_key(*parts: Any, **named: Any) -> Any:
    app = _build(*parts, **named)
    app.middleware("http")(_ask_for_key)
    return app


server.build_server = _with_key
sys.argv = ["transformers", "serve", *sys.argv[1:]]
command.main()
