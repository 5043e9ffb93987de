"""The front as granian serves it, over real sockets: what reaches a thread, and what never does."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from encodings.aliases import aliases
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from django.core.handlers.wsgi import WSGIRequest

from config.front.bodies import BodyReader, BodyRefused
from config.front.policy import ALWAYS_BYTES, BodyLimit
from config.front.wsgi import content_type_of
from devserver.processes import WEB_OPTIONS
from tests.stack.harness import BIN, ROOT, free_ports
from tests.waiting import wait_until

BODY_S = 1
pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    [port] = free_ports(1)
    options = [*WEB_OPTIONS[:-1], "--no-log", "tests.config.front.served:front"]
    options[options.index("--http1-header-read-timeout") + 1] = "1000"
    env = {**os.environ, "WEB_BODY_S": str(BODY_S)}
    process = subprocess.Popen([str(BIN / "granian"), "--port", str(port), *options], cwd=ROOT, env=env, stderr=sys.stderr)
    try:
        wait_until("the front", lambda: answers(port) or process.poll() is not None, timeout=60)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def url(port: int, path: str) -> str:
    return f"http://127.0.0.1:{port}{path}"


def facts(reply: httpx.Response) -> dict[str, str]:
    assert reply.status_code == 200, reply.text
    return dict(line.split("=", 1) for line in reply.text.splitlines())


def raw(port: int, content: bytes) -> bytes:
    """The whole answer, until the server hangs up."""
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.sendall(content)
        found = b""
        while piece := connection.recv(65_536):
            found += piece
    return found


def test_a_request_reaches_the_application_as_it_was_sent(port: int) -> None:
    headers = [
        ("X-One", "1"),
        ("Cookie", "a=1"),
        ("Cookie", "b=2"),
        ("X-Forwarded-For", "9.9.9.9"),
        ("X_Forwarded_For", "evil"),
    ]
    found = facts(httpx.post(url(port, "/a%20b/%C3%A9?x=%C3%A9&y=%00"), content=b"12345", headers=headers))
    assert found["PATH_INFO"] == repr("/a b/é".encode().decode("latin-1"))
    assert found["QUERY_STRING"] == repr("x=%C3%A9&y=%00")
    assert (found["CONTENT_LENGTH"], found["body"]) == ("'5'", "5")
    assert (found["HTTP_X_ONE"], found["HTTP_COOKIE"]) == ("'1'", "'a=1; b=2'")
    assert found["HTTP_X_FORWARDED_FOR"] == "'9.9.9.9'"
    assert found["REMOTE_ADDR"] == "'127.0.0.1'"
    assert "HTTP_CONTENT_LENGTH" not in found


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("application/json", "application/json"),
        ("application/json; charset=utf-16", "application/json"),
        ("multipart/form-data; Charset=hex; boundary=a-b", 'multipart/form-data; boundary="a-b"'),
        ("text/plain; charset*=utf-8''%68ex", "text/plain"),
        ("text/plain; charset*=nonsense''hex", ""),
        ('multipart/form-data; boundary="; charset=hex"', 'multipart/form-data; boundary="; charset=hex"'),
    ],
)
def test_no_charset_reaches_the_application(port: int, sent: str, read: str) -> None:
    found = facts(httpx.post(url(port, "/x?a=%ff"), content=b"1", headers={"Content-Type": sent}))
    assert found["CONTENT_TYPE"] == repr(read)


def codecs_of_python() -> list[str]:
    return sorted({*aliases.values(), "idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "nonsense"})


@pytest.mark.parametrize("codec", codecs_of_python())
def test_a_request_is_read_as_utf_8_whatever_it_names(codec: str) -> None:
    form = b"a=%C3%A9"
    environ = {
        "REQUEST_METHOD": "POST",
        "QUERY_STRING": "b=%C3%A9",
        "CONTENT_TYPE": content_type_of(f"application/x-www-form-urlencoded; charset={codec}"),
        "CONTENT_LENGTH": str(len(form)),
        "wsgi.input": BytesIO(form),
    }
    request = WSGIRequest(environ)
    assert (request.GET["b"], request.POST["a"]) == ("é", "é")


def test_a_body_in_chunks_has_a_length_when_it_arrives(port: int) -> None:
    found = facts(httpx.post(url(port, "/x"), content=(b"12345" for _ in range(3))))
    assert (found["CONTENT_LENGTH"], found["body"]) == ("'15'", "15")


def test_an_answer_keeps_its_headers(port: int) -> None:
    reply = httpx.get(url(port, "/x"))
    assert reply.headers.get_list("set-cookie") == ["a=1", "b=2"]
    head = httpx.head(url(port, "/x"))
    assert (head.content, head.headers["content-type"]) == (b"", "text/plain")
    assert httpx.get(url(port, "/nothing")).status_code == 304


@pytest.mark.parametrize(("path", "size"), [("/small", 2 * 1024), ("/large", 3 * 1024 * 1024)])
def test_streaming_answers_arrive_whole(port: int, path: str, size: int) -> None:
    assert len(httpx.get(url(port, path)).content) == size


def test_a_crash_is_an_answer(port: int) -> None:
    assert httpx.get(url(port, "/crash")).status_code == 500
    assert httpx.get(url(port, "/x")).status_code == 200


def test_a_body_that_dribbles_is_refused_after_its_time_and_holds_no_thread(port: int) -> None:
    head = b"POST /api/v1/advice HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n123456789"
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 30)) for _ in range(300)]
        for each in sockets:
            each.sendall(head)
        for path in ("/x", "/healthz"):
            assert httpx.get(url(port, path)).status_code == 200
        assert httpx.post(url(port, "/x"), content=b"12").status_code == 200
        for each in sockets:
            each.sendall(b"0")  # still alive, never done
        found = [b"".join(iter(lambda each=each: each.recv(4096), b"")) for each in sockets]  # type: ignore[misc]  # bound now
    assert all(b" 408 " in answer.splitlines()[0] and b"body_too_late" in answer for answer in found)


def test_bodies_that_are_only_announced_keep_no_other_out(port: int) -> None:
    head = b"POST /agent/v1/speed HTTP/1.1\r\nHost: x\r\nContent-Length: 8388608\r\n\r\n123456789"
    with ExitStack() as stack:
        for _ in range(60):  # twice what would fill the memory for bodies
            stack.enter_context(socket.create_connection(("127.0.0.1", port), 30)).sendall(head)
        time.sleep(0.5)
        for size in (2, 100_000):
            sync = httpx.post(url(port, "/agent/v1/sync"), headers={"Berth-Signature": "0"}, content=b"x" * size)
            form = httpx.post(url(port, "/x"), content=b"x" * size)
            assert (sync.status_code, form.status_code) == (200, 200)


class Sender:
    """A client whose body comes in pieces, the last of them when `more` is set."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces, self.more = pieces, asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for number, piece in enumerate(self.pieces):
            if number and number == len(self.pieces) - 1:
                await self.more.wait()
            yield piece


async def read(bodies: BodyReader, sender: Sender, announced: int | None = None) -> bytes:
    length = sum(map(len, sender.pieces)) if announced is None else announced
    scope: Any = SimpleNamespace(headers={"content-length": str(length)})
    proto: Any = sender
    return await bodies.read(scope, proto, BodyLimit(4 * ALWAYS_BYTES, 5))


def test_memory_for_bodies_is_for_what_has_come_and_small_ones_are_let_in_always() -> None:
    async def scene() -> None:
        bodies, large = BodyReader(most=ALWAYS_BYTES), b"x" * (2 * ALWAYS_BYTES)
        slow = Sender(large, b"end")
        first = asyncio.create_task(read(bodies, slow, len(large) + 3))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        with pytest.raises(BodyRefused, match="More is asked"):
            await read(bodies, Sender(large))
        assert await read(bodies, Sender(b"x" * ALWAYS_BYTES)) == b"x" * ALWAYS_BYTES
        slow.more.set()
        with pytest.raises(BodyRefused):  # three bytes more than there was memory for
            await first
        assert await read(bodies, Sender(large)) == large, "what was held is free again"

    asyncio.run(scene())


def test_a_body_whose_sender_hangs_up_is_not_taken_for_whole(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.sendall(b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345")
        connection.shutdown(socket.SHUT_WR)
        assert b" 200 " not in connection.recv(4096)
    with pytest.raises(BodyRefused, match="didn't arrive"):
        asyncio.run(read(BodyReader(), Sender(b"12345"), 10))


def test_headers_that_dribble_are_hung_up_on(port: int) -> None:
    assert raw(port, b"GET /x HTTP/1.1\r\nHost: x\r\n") == b""


@pytest.mark.parametrize(
    ("path", "most"),
    [
        ("/api/v1/advice", 1_048_576),
        ("/agent/v1/enrol", 2_097_152),
        ("/agent/v1/speed", 8_388_608),
        ("/calculator", 2_621_440),
    ],
)
def test_a_body_that_is_too_large_is_refused_unread(port: int, path: str, most: int) -> None:
    announced = raw(port, f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {most + 1}\r\n\r\n".encode())
    assert b" 413 " in announced.splitlines()[0]
    assert httpx.post(url(port, path), content=b"x" * most).status_code == 200


def test_chunks_without_end_are_refused_at_the_limit(port: int) -> None:
    reply = httpx.post(url(port, "/api/v1/advice"), content=(b"x" * 65_536 for _ in range(17)))
    assert (reply.status_code, reply.json()["code"]) == (413, "body_too_large")


def test_a_reader_who_does_not_read_holds_no_thread(port: int) -> None:
    with ExitStack() as stack:
        for _ in range(5):
            each = stack.enter_context(socket.socket())
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            each.connect(("127.0.0.1", port))
            each.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        assert httpx.get(url(port, "/x")).status_code == 200


def test_what_waits_too_long_is_refused_while_others_are_served(port: int) -> None:
    """The one thread of its kind is held; the kinds beside it answer, and so does a session once the thread is free."""
    browser = {"Cookie": "sessionid=x", "Accept": "text/html"}
    signed = {"Berth-Signature": "0"}
    with ThreadPoolExecutor(8) as pool:
        held = pool.submit(httpx.get, url(port, "/hold"), headers=browser, timeout=60)
        wait_until("the thread is held", lambda: httpx.get(url(port, "/y"), headers=browser, timeout=60).status_code == 503)
        began = time.monotonic()
        page = httpx.get(url(port, "/wallet"), headers=browser, timeout=60)
        assert time.monotonic() - began < 5
        assert (page.status_code, page.headers["retry-after"], page.headers["cache-control"]) == (503, "2", "no-store")
        assert "Try again in a few seconds" in page.text
        chinese = httpx.get(url(port, "/wallet"), headers={**browser, "Accept-Language": "zh-CN"}, timeout=60)
        assert "请几秒后重试" in chinese.text
        program = httpx.get(url(port, "/api/v1/wallet"), headers={"Authorization": "Bearer x"}, timeout=60)
        assert (program.status_code, program.headers["content-type"]) == (503, "application/problem+json")
        assert (program.json()["code"], program.headers["retry-after"]) == ("busy", "2")
        for path in ("/healthz", "/readyz", "/market", "/api/v1/offers"):
            assert httpx.get(url(port, path), timeout=60).status_code == 200
        assert httpx.post(url(port, "/agent/v1/sync"), headers=signed, content=b"{}", timeout=60).status_code == 200
        httpx.get(url(port, "/open"))
        assert held.result().status_code == 200
    assert httpx.get(url(port, "/y"), headers=browser).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "headers", "kind"),
    [
        ("POST", "/agent/v1/sync", {"Berth-Signature": "0"}, "agents"),
        ("POST", "/agent/v1/enrol", {}, "general"),
        ("GET", "/readyz", {}, "operations"),
        ("GET", "/metrics", {"Authorization": "Bearer x"}, "operations"),
        ("GET", "/", {}, "public"),
        ("GET", "/", {"Cookie": "theme=dark"}, "public"),
        ("GET", "/", {"Cookie": "theme=dark; sessionid=x"}, "general"),
        ("GET", "/api/v1/offers", {"Authorization": "Bearer x"}, "public"),
        ("GET", "/api/v1/wallet", {"Authorization": "Bearer x"}, "general"),
        ("GET", "/static/css/berth.css", {"Cookie": "sessionid=x"}, "public"),
        ("POST", "/api/v1/advice", {}, "general"),
    ],
)
def test_kinds_of_requests_have_threads_of_their_own(
    port: int, method: str, path: str, headers: dict[str, str], kind: str
) -> None:
    found = facts(httpx.request(method, url(port, path), headers=headers))
    assert found["thread"].startswith(f"web-{kind}-")
