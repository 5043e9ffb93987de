"""Call of a WSGI application for a request that granian has read."""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final

from django.utils.http import parse_header_parameters
from granian.rsgi import Scope

from config.front.policy import CHUNK_BYTES, SPOOL_BYTES
from config.front.refusals import Header, Reply

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

_FIXED: Final[dict[str, Any]] = {
    "SCRIPT_NAME": "",
    "wsgi.version": (1, 0),
    "wsgi.errors": sys.stderr,
    "wsgi.multithread": True,
    "wsgi.multiprocess": True,
    "wsgi.run_once": False,
    "wsgi.input_terminated": True,
}


@dataclass(frozen=True)
class Stored:
    """An answer too large for memory, with its body in a temporary file."""

    status: int
    headers: list[Header]
    file: IO[bytes]

    def pieces(self) -> Iterator[bytes]:
        self.file.seek(0)
        while piece := self.file.read(CHUNK_BYTES):
            yield piece


def environ_of(scope: Scope, body: bytes) -> dict[str, Any]:
    """Return the WSGI environment; headers with an underscore in their names are dropped.

    As keys they would equal those of headers with a hyphen that a proxy sets.
    """
    name, _, port = scope.server.rpartition(":")
    environ = {
        **_FIXED,
        "REQUEST_METHOD": scope.method,
        "PATH_INFO": _latin(scope.path),
        "QUERY_STRING": _latin(scope.query_string),
        "SERVER_NAME": name.strip("[]"),
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "REMOTE_ADDR": scope.client.rpartition(":")[0].strip("[]"),
        "wsgi.url_scheme": scope.scheme,
        "wsgi.input": BytesIO(body),
    }
    for header, value in scope.headers.items():
        key = _key_of(header)
        if not key:
            continue
        separator = "; " if header == "cookie" else ","
        environ[key] = f"{environ[key]}{separator}{value}" if key in environ else value
    environ["CONTENT_TYPE"] = content_type_of(environ.pop("HTTP_CONTENT_TYPE", ""))
    environ.pop("HTTP_CONTENT_LENGTH", None)
    environ["CONTENT_LENGTH"] = str(len(body)) if body else ""
    return environ


def content_type_of(text: str) -> str:
    """Return the content type without its charset; "" if it cannot be parsed.

    Django would decode URLs and forms with that charset, using any codec that Python has, before anything could
    refuse one that yields no text ("hex"). They are UTF-8, as the URL standard requires.
    """
    try:
        kind, words = parse_header_parameters(text)
    except ValueError:
        return ""
    if "charset" not in words:
        return text
    return f'{kind}; boundary="{words["boundary"]}"' if "boundary" in words else kind


def call(application: Application, environ: dict[str, Any], answer: Callable[[Reply], None]) -> Stored | None:
    """Call the application; pass the complete answer to `answer`, or return one too large for memory."""
    head: list[tuple[int, list[Header]]] = []

    def start_response(status: str, headers: list[Header], exc_info: Any = None) -> None:
        head[:] = [(int(status.partition(" ")[0]), headers)]

    content = application(environ, start_response)
    try:
        if not getattr(content, "streaming", False):
            body = b"".join(content)
            answer(Reply(*head[0], body))
            return None
        with_file = _spooled(content)
        if with_file.tell() > SPOOL_BYTES:
            return Stored(*head[0], with_file)
        with with_file:
            with_file.seek(0)
            answer(Reply(*head[0], with_file.read()))
        return None
    finally:
        close = getattr(content, "close", None)
        if close is not None:
            close()


def _spooled(content: Iterable[bytes]) -> IO[bytes]:
    """Read the content completely in the thread that started it, whose database connection its rows use."""
    file = SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115 (closed by whoever sends it)
    for piece in content:
        file.write(piece)
    return file


@lru_cache(maxsize=1_000)
def _key_of(header: str) -> str:
    return "" if "_" in header else f"HTTP_{header.upper().replace('-', '_')}"


def _latin(text: str) -> str:
    """Return the text as WSGI requires it: each byte as one character."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")
