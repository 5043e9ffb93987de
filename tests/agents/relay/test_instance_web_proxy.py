"""Programs of instances in the browser: the link, the visit, HTTP and WebSockets, and everybody who is kept out."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from agents.protocol.tickets import sign_ticket
from tests.agents.relay.conftest import SECRET, Relay, free_port, wait_until
from tests.agents.relay.streaming import Service, StreamHost

LARGE = 3 * 1024 * 1024


async def show(request: Request) -> Response:
    """What the program was asked, word for word; it tries to set a cookie for more names than its own."""
    body = await request.body()
    pairs = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in request.headers.raw]
    answer = {"method": request.method, "target": str(request.url.path), "query": request.url.query, "headers": pairs}
    reply = JSONResponse({**answer, "body": len(body)}, 201)
    reply.headers["Set-Cookie"] = "seen=1; Domain=localhost; Path=/; HttpOnly"
    return reply


async def trickle(request: Request) -> Response:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"first\n"
        request.app.state.told.wait(10)
        yield b"x" * LARGE

    return StreamingResponse(pieces())


async def endless(request: Request) -> Response:
    async def pieces() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"tick\n" * 10_000
                await asyncio.sleep(0)  # a server that nobody reads from any more takes it without waiting
        finally:
            request.app.state.ended.set()

    return StreamingResponse(pieces())


async def talk(wire: WebSocket) -> None:
    """Echoes; says first which subprotocols were offered, and ends with a code of its own."""
    await wire.accept("second" if "second" in wire.scope["subprotocols"] else None)
    await wire.send_text(wire.headers.get("cookie", "none"))
    while True:
        message = await wire.receive()
        if message["type"] != "websocket.receive":
            wire.app.state.ended.set()
            return
        if message.get("text") == "end":
            await wire.close(4321)
            return
        await wire.send(
            {"type": "websocket.send", **{name: message[name] for name in ("text", "bytes") if message.get(name)}}
        )


@dataclass
class Program:
    """A web server inside the pretended instance."""

    app: Starlette = field(
        default_factory=lambda: Starlette(
            routes=[
                Route("/trickle", trickle),
                Route("/endless", endless),
                Route("/plain", lambda request: PlainTextResponse("plain")),
                WebSocketRoute("/talk", talk),
                Route("/{path:path}", show, methods=["GET", "POST", "HEAD", "PUT"]),
            ]
        )
    )
    port: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        self.app.state.told, self.app.state.ended = threading.Event(), threading.Event()
        config = uvicorn.Config(self.app, port=self.port, log_level="error", ws="websockets-sansio")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)

    def __enter__(self) -> "Program":
        self.thread.start()
        wait_until(lambda: self.server.started)
        return self

    def __exit__(self, *_: object) -> None:
        self.app.state.told.set()
        self.server.should_exit = self.server.force_exit = True
        self.thread.join(10)


class Browser:
    """Whoever has a link: keeps the cookie, says which host it asks."""

    def __init__(self, relay: Relay, host: StreamHost, port: int = 8888) -> None:
        self.relay_port = int(relay.url.rpartition(":")[2])
        self.host, self.port = host, port
        self.name = f"{host.instance}-{port}.localhost:{self.relay_port}"
        self.client = httpx.Client(base_url=relay.url, headers={"Host": self.name}, timeout=20)
        self.cookie = ""

    def visit(self, lifetime_s: float = 600, **more: Any) -> str:
        grant = self.host.grant("port", port=self.port, lifetime_s=lifetime_s, once=False, **more)
        return self.host.sign(f"stream:{self.host.id}:{grant}", lifetime_s=lifetime_s)

    def link(self, *, label: str = "", kind: str = "open", lifetime_s: float = 60, secret: str = SECRET) -> str:
        topic = f"{kind}:{label or self.name.partition('.')[0]}:{self.visit()}"
        return sign_ticket(secret, topic=topic, expires_at=int(time.time() + lifetime_s))

    def open(self, page: str = "lab?token=t", **more: Any) -> httpx.Response:
        reply = self.client.get(f"/relay/v1/web/{self.link(**more)}/{page}")
        self.cookie = reply.headers.get("Set-Cookie", "").partition(";")[0]
        self.client.cookies.clear()
        return reply

    def ask(self, path: str, method: str = "GET", **more: Any) -> httpx.Response:
        headers = {"Cookie": self.cookie, **more.pop("headers", {})}
        return self.client.request(method, path, headers=headers, **more)

    def socket(self, path: str = "/talk", *, origin: str = "", subprotocols: Sequence[str] = ()) -> ClientConnection:
        wire = socket.create_connection(("127.0.0.1", self.relay_port))
        connection: ClientConnection = connect(
            f"ws://{self.name}{path}",
            sock=wire,
            origin=Origin(origin or f"http://{self.name}"),
            additional_headers={"Cookie": f"other=1; {self.cookie}"},
            subprotocols=[Subprotocol(name) for name in subprotocols] or None,
            max_size=2 * LARGE,
        )
        return connection


def refused(browser: Browser, path: str = "/talk", **more: Any) -> bool:
    try:
        with browser.socket(path, **more):
            return False
    except InvalidStatus:
        return True


@pytest.fixture
def relay(start_relay: Callable[..., Relay]) -> Relay:
    return start_relay(web_host="localhost")


@pytest.fixture
def program() -> Iterator[Program]:
    with Program() as running:
        yield running


@pytest.fixture
def host(relay: Relay, program: Program) -> Iterator[StreamHost]:
    host = StreamHost(relay.url, SECRET)
    host.containers.ports[8888] = program.port
    host.follow()
    yield host
    host.streams.stop()
    host.containers.close()


Visit = Callable[..., Browser]


@pytest.fixture
def visitor(relay: Relay, host: StreamHost) -> Iterator[Visit]:
    with ExitStack() as browsers:

        def come(port: int = 8888) -> Browser:
            browser = Browser(relay, host, port)
            browsers.enter_context(browser.client)
            assert browser.open().status_code == 303
            return browser

        yield come


@pytest.fixture
def browser(visitor: Visit) -> Browser:
    return visitor()


def test_a_link_leads_to_the_page_without_itself(browser: Browser) -> None:
    reply = browser.open("lab/tree?token=t&x=1")
    assert (reply.status_code, reply.headers["Location"]) == (303, "/lab/tree?token=t&x=1")
    cookie = reply.headers["Set-Cookie"]
    assert cookie.startswith("berth_visit=") and "HttpOnly" in cookie and "SameSite=lax" in cookie
    assert "Domain" not in cookie and "Secure" not in cookie
    assert reply.headers["Referrer-Policy"] == "no-referrer"
    assert browser.open("//evil.example/").headers["Location"] == "/evil.example/"
    secure = browser.client.get(f"/relay/v1/web/{browser.link()}/", headers={"X-Forwarded-Proto": "https"})
    assert secure.headers["Set-Cookie"].startswith("__Host-berth_visit=") and "Secure" in secure.headers["Set-Cookie"]


def test_a_request_arrives_as_it_was_sent_but_for_the_visit(browser: Browser) -> None:
    reply = browser.ask(
        "/api/x%20y?q=%41",
        "POST",
        content=b"z" * LARGE,
        headers={"Cookie": f'bad="; {browser.cookie}; _xsrf=2', "X-Own": "1", "Connection": "keep-alive"},
    )
    seen = reply.json()
    headers = dict(seen["headers"])
    assert (reply.status_code, seen["method"], seen["target"], seen["query"]) == (201, "POST", "/api/x y", "q=%41")
    assert seen["body"] == LARGE
    assert (headers["host"], headers["x-own"], headers["cookie"]) == (browser.name, "1", 'bad="; _xsrf=2')
    assert reply.headers["Set-Cookie"] == "seen=1; Path=/; HttpOnly"
    assert browser.ask("/x", "HEAD").status_code == 201

    chunked = browser.ask("/x", "PUT", content=iter([b"a" * 1000, b"b" * 1000]))
    assert chunked.json()["body"] == 2000


def test_an_answer_comes_piece_by_piece_and_connections_are_used_again(browser: Browser, program: Program) -> None:
    with browser.client.stream("GET", "/trickle", headers={"Cookie": browser.cookie}) as reply:
        pieces = reply.iter_raw()
        assert next(pieces) == b"first\n"  # while the rest is not even made
        program.app.state.told.set()
        assert sum(map(len, pieces)) == LARGE
    for _ in range(20):
        assert browser.ask("/plain").text == "plain"


def test_who_hangs_up_ends_it_inside_too(browser: Browser, program: Program) -> None:
    with browser.client.stream("GET", "/endless", headers={"Cookie": browser.cookie}) as reply:
        assert next(reply.iter_raw()).startswith(b"tick")
    assert program.app.state.ended.wait(20)


def test_websockets(browser: Browser, program: Program) -> None:
    with browser.socket(subprotocols=["first", "second"]) as wire:
        assert wire.subprotocol == "second"
        assert wire.recv(5) == "other=1"  # and not the visit's
        for message in ("你好", b"\x00\xff", "x" * 500_000, b"y" * 500_000):
            wire.send(message)
            assert wire.recv(5) == message
        wire.send("end")
        with pytest.raises(ConnectionClosed) as closed:
            wire.recv(5)
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 4321
    program.app.state.ended.clear()
    with browser.socket() as wire:
        assert wire.recv(5) == "other=1"
    assert program.app.state.ended.wait(20)
    assert refused(browser, "/no-socket-here")


def test_without_a_visit_nobody_enters(browser: Browser) -> None:
    good = browser.cookie
    for cookie in ("", "berth_visit=x.y", good[:-2], good.replace("berth_visit", "__Host-berth_visit")):
        assert browser.ask("/plain", headers={"Cookie": cookie}).status_code == 401
    browser.cookie = ""
    assert refused(browser)


@pytest.mark.parametrize(
    "wrong",
    [{"label": "f" * 32 + "-8888"}, {"kind": "visit"}, {"lifetime_s": -1}, {"secret": "another"}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_link_for_something_else_opens_nothing(browser: Browser, wrong: dict[str, Any]) -> None:
    reply = browser.open(**wrong)
    assert (reply.status_code, "Set-Cookie" in reply.headers) == (401, False)


def test_a_visit_is_for_its_own_name(relay: Relay, browser: Browser) -> None:
    """Neither to another instance, nor to another port, nor to the relay itself."""
    cookie = {"Cookie": browser.cookie}
    for name in (f"{'f' * 32}-8888.localhost", f"{browser.host.instance}-6006.localhost"):
        assert browser.ask("/plain", headers={"Host": name}).status_code == 401
    assert browser.ask("/plain", headers={"Host": "www.localhost"}).status_code == 404
    assert browser.ask("/healthz").text != httpx.get(f"{relay.url}/healthz", headers=cookie).text
    assert httpx.get(f"{relay.url}/plain", headers=cookie).status_code == 404


def test_other_sites_pages_may_only_lead_here(browser: Browser) -> None:
    sibling = f"http://{'e' * 32}-8888.localhost:{browser.relay_port}"
    for origin in (sibling, "https://evil.example", "null"):
        assert browser.ask("/x", "POST", headers={"Origin": origin}).status_code == 403
        assert refused(browser, origin=origin)
    assert browser.ask("/x", "POST", headers={"Origin": f"http://{browser.name}"}).status_code == 201
    for site in ("same-site", "cross-site"):
        fetched = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}
        framed = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
        followed = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        statuses = [browser.ask("/plain", headers=headers).status_code for headers in (fetched, framed, followed)]
        assert statuses == [403, 403, 200]


def test_a_program_that_is_not_there_or_speaks_otherwise(host: StreamHost, visitor: Visit) -> None:
    def rude(wire: socket.socket) -> None:
        wire.recv(10)
        wire.sendall(b"SSH-2.0-OpenSSH\r\n")

    assert visitor(7777).ask("/").status_code == 502
    other = visitor(6006)
    with Service(rude) as service:
        host.containers.ports[6006] = service.port
        assert other.ask("/").status_code == 502
        assert refused(other, "/")
    host.follow(run="stopped")
    wait_until(lambda: other.ask("/").status_code == 502)


def test_without_a_web_host_there_are_no_such_names(start_relay: Callable[..., Relay]) -> None:
    plain = start_relay()
    name = {"Host": f"{'a' * 32}-8888.localhost"}
    assert httpx.get(f"{plain.url}/relay/v1/web/x/", headers=name).status_code == 404
