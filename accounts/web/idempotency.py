"""`Idempotency-Key` and `?dry_run=true` for every POST of the API that costs or creates something."""

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.constants import MAX_IDEMPOTENCY_KEY_CHARS
from accounts.idempotency.services import run_and_roll_back, run_once
from accounts.web.permissions import current_user
from common.encryption import derived_key
from common.errors import FieldError, InvalidInput
from common.json import as_plain

Work = Callable[[], tuple[int, Any]]

_PURPOSE = "berth-idempotency-v1"
_KEY = re.compile(rf"[!-~]{{1,{MAX_IDEMPOTENCY_KEY_CHARS}}}")


def idempotent_response(
    request: Request, work: Work, *, dry_run: Work | None = None, once: Sequence[str] = (), keyed: bool = False
) -> Response:
    """Return the response of `work`, executed once for each `Idempotency-Key`.

    Fields named in `once` are returned only the first time. `keyed` says that the body holds secrets.
    With `?dry_run=true`, return 200 and what would happen: the body of `dry_run`, or else that of `work`, rolled back.
    """
    if _wants_dry_run(request):
        _, body = dry_run() if dry_run else run_and_roll_back(work=work)
        if once:
            body = {**as_plain(body), **dict.fromkeys(once)}
        return Response(body, status=200, headers={"Dry-Run": "true"})
    key = _key(request)
    digest = request_hash(request, keyed=keyed)
    status, body = run_once(user=current_user(request), key=key, request_hash=digest, work=work, once=once)
    return Response(body, status=status)


def request_hash(request: Request, *, keyed: bool = False) -> str:
    """Return the SHA-256 of method, path and sorted body, by which two requests are the same.

    For a body with secrets it is keyed: a short one could otherwise be guessed from the stored hash.
    """
    # The standard library's encoder, since a body may hold integers beyond 64 bits, which orjson cannot write.
    body = json.dumps(request.data, sort_keys=True, separators=(",", ":"))
    text = f"{request.method} {request.path}\n{body}".encode()
    if keyed or (isinstance(request.data, Mapping) and (request.data.get("secrets") or request.data.get("inputs"))):
        return hmac.digest(derived_key(_PURPOSE, ""), text, hashlib.sha256).hex()
    return hashlib.sha256(text).hexdigest()


def _key(request: Request) -> str | None:
    key: str | None = request.headers.get("Idempotency-Key")
    if key is not None and not _KEY.fullmatch(key):
        detail = f"Send 1 to {MAX_IDEMPOTENCY_KEY_CHARS} visible ASCII characters."
        raise InvalidInput("The Idempotency-Key is not valid.", errors=[FieldError("Idempotency-Key", "invalid", detail)])
    return key


def _wants_dry_run(request: Request) -> bool:
    text = request.query_params.get("dry_run", "false")
    if text not in ("true", "false"):
        raise InvalidInput("dry_run must be true or false.", errors=[FieldError("dry_run", "invalid", "true or false")])
    return bool(text == "true")
