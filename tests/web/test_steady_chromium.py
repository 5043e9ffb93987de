"""The tests' browser goes on loading while the machine's addresses change."""

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser

BRIDGE = "berth-steady"
AT_ONCE = 9  # more than the browser opens to one server: those that wait are given up when an address comes or goes
LOAD = "many => Promise.all([...Array(many).keys()].map(async each => (await fetch(`/${each}`)).status))"


class Slow(BaseHTTPRequestHandler):
    """Every page but the first takes a second."""

    protocol_version = "HTTP/1.1"
    requested = threading.Event()

    def do_GET(self) -> None:
        if self.path != "/":
            self.requested.set()
            time.sleep(1.0)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def change_addresses() -> None:
    Slow.requested.wait(10)
    for words in (f"link add {BRIDGE} type bridge", f"addr add 198.18.250.1/30 dev {BRIDGE}", f"link set {BRIDGE} up"):
        subprocess.run(["ip", *words.split()], check=True)
    time.sleep(0.2)
    subprocess.run(["ip", "link", "del", BRIDGE], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="changing the addresses of a machine takes root")
def test_what_waits_is_loaded_although_a_network_comes_and_goes(chromium: Browser, url: str) -> None:
    with chromium.new_context(base_url=url) as context:
        page = context.new_page()
        page.goto("/")
        change = threading.Thread(target=change_addresses)
        change.start()
        assert page.evaluate(LOAD, AT_ONCE) == [200] * AT_ONCE
        change.join()
