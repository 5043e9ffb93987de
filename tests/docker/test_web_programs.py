"""A program in a container, in the browser: by a signed link to a name of its own, over the stream that the agent dials."""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from agents.protocol.messages import DesiredInstance
from agents.protocol.tickets import sign_ticket
from agents.relay.__main__ import build_server
from agents.relay.config import RelayConfig
from agents.relay.routes import build_app
from tests.agents.relay.streaming import sealed_grant
from tests.docker.conftest import Host, Ssh, eventually

pytestmark = pytest.mark.docker

SECRET = "relay-secret-of-the-docker-tests"
Link = Callable[[DesiredInstance, int, str], str]


@pytest.fixture
def link(host: Host) -> Iterator[Link]:
    """A relay for the host's agent; makes what the web would sign."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    config = RelayConfig(redis_url=os.environ["REDIS_URL"], secret=SECRET, web_host="localhost")
    server = build_server(build_app(config), host="127.0.0.1", port=port)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    eventually(lambda: server.started, "the relay listens")

    def sign(topic: str) -> str:
        return sign_ticket(SECRET, topic=topic, expires_at=int(time.time()) + 600)

    def standing() -> dict[str, Any]:
        ticket = sign(f"link:{host.config.host_id}")
        return {"link_url": f"ws://127.0.0.1:{port}/relay/v1/link", "link_ticket": ticket, "now": int(time.time())}

    def make(order: DesiredInstance, inside: int, page: str) -> str:
        grant = sealed_grant(order.id, "port", key=host.market.slip_key, port=inside, lifetime_s=600, once=False)
        label = f"{order.id}-{inside}"
        leave = sign(f"open:{label}:" + sign(f"stream:{host.config.host_id}:{grant}"))
        return f"http://{label}.localhost:{port}/relay/v1/web/{leave}/{page}"

    host.market.streams = standing
    yield make
    server.should_exit = True
    thread.join(20)


def test_a_port_that_nobody_published_opens_by_a_link(host: Host, order: DesiredInstance, link: Link, ssh: Ssh) -> None:
    """The program listens on loopback in its container: there is no other way to it."""
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    ssh.must(order, "mkdir /root/www && head -c 3000000 /dev/zero >/root/www/large && echo 你好 >/root/www/page.txt")
    serve = "exec setsid python3 -m http.server 7860 --bind 127.0.0.1 --directory /root/www"
    ssh.must(order, f"({serve}) >/dev/null 2>&1 </dev/null &")
    with httpx.Client(transport=_ToLoopback(), timeout=20) as browser:
        opened = browser.get(link(order, 7860, "page.txt"))
        assert opened.status_code == 303
        page = opened.url.join(opened.headers["Location"])
        eventually(lambda: browser.get(page).status_code != 502, "the program answers")
        assert browser.get(page).text == "你好\n"
        assert len(browser.get(page.copy_with(path="/large")).content) == 3_000_000
        assert browser.get(page.copy_with(path="/absent")).status_code == 404
        browser.cookies.clear()
        assert browser.get(page).status_code == 401


class _ToLoopback(httpx.HTTPTransport):
    """As browsers do: every name below localhost is this machine."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        here = request.url.copy_with(host="127.0.0.1")
        return super().handle_request(httpx.Request(request.method, here, headers=request.headers))
