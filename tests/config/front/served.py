"""A front whose application is a toy: what granian serves in the tests beside this file."""

import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import django
from django.conf import settings

ROOT = Path(__file__).parents[3]

if not settings.configured:
    settings.configure(
        STATIC_URL="/static/",
        TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "DIRS": [ROOT / "templates"]}],
        LANGUAGES=[("en", "English"), ("zh-hans", "简体中文")],
        LOCALE_PATHS=[ROOT / "locale"],
        INSTALLED_APPS=["django.contrib.staticfiles"],
    )
    django.setup()

from config.front.app import WebFrontEnd  # noqa: E402  (the settings come first)
from config.front.policy import PoolLimits, Traffic  # noqa: E402

_gate = threading.Event()
_LARGE = 3 * 1024 * 1024


class Streaming:
    """As Django's streaming responses: its pieces are known only one after another."""

    streaming = True

    def __init__(self, pieces: int) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return (b"x" * 1024 for _ in range(self._pieces))


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    path, headers = environ["PATH_INFO"], [("Content-Type", "text/plain"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]
    if path == "/crash":
        raise ZeroDivisionError
    if path == "/hold":
        assert _gate.wait(60)
    if path == "/open":
        _gate.set()
    if path == "/large":
        start_response("200 OK", headers)
        return Streaming(_LARGE // 1024)
    if path == "/small":
        start_response("200 OK", headers)
        return Streaming(2)
    if path == "/nothing":
        start_response("304 Not Modified", [("ETag", '"x"')])
        return [b""]
    body = environ["wsgi.input"].read()
    plain = {name: value for name, value in environ.items() if isinstance(value, str) and not name.startswith("wsgi")}
    text = "\n".join(f"{name}={value!r}" for name, value in sorted(plain.items()))
    start_response("200 OK", headers)
    return [f"{text}\nbody={len(body)}\nthread={threading.current_thread().name}\npid={os.getpid()}".encode()]


SHARES = {
    Traffic.AGENTS: PoolLimits(1, 10_000, None),
    Traffic.OPERATIONS: PoolLimits(1, 10, None),
    Traffic.PUBLIC: PoolLimits(1, 10, 0.2),
    Traffic.GENERAL: PoolLimits(1, 3, 0.2),
}
front = WebFrontEnd(application, SHARES)
