"""The agent's HTTP client: proxies as the environment names them, and nothing followed or tried twice on its own."""

import socket
import threading
from collections.abc import Iterator

import pytest
from urllib3.exceptions import HTTPError

from agents.daemon.control_plane.tls import Client

MOVED = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"


class Heard:
    """A server that answers each connection once, and keeps the first lines."""

    def __init__(self, answer: bytes) -> None:
        self.lines: list[str] = []
        self._answer = answer
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join(10)

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            with connection:
                self.lines.append(connection.recv(65536).decode().splitlines()[0])
                connection.sendall(self._answer)


@pytest.fixture
def heard() -> Iterator[Heard]:
    made = Heard(MOVED)
    yield made
    made.close()


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client(5.0)
    yield made
    made.close()


def test_the_environment_s_proxy_is_used(heard: Heard, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", heard.url)
    client.request("GET", "http://market.invalid/agent/v1/wait?since=1")
    assert heard.lines == ["GET http://market.invalid/agent/v1/wait?since=1 HTTP/1.1"]


def test_places_of_no_proxy_are_asked_directly(heard: Heard, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    client.request("GET", f"{heard.url}/a")
    assert heard.lines == ["GET /a HTTP/1.1"]


def test_a_redirect_is_told_and_not_followed(heard: Heard, client: Client) -> None:
    assert client.request("GET", f"{heard.url}/a").status == 302


def test_what_fails_is_not_tried_again(client: Client) -> None:
    silent = Heard(b"")
    with pytest.raises(HTTPError):
        client.request("POST", f"{silent.url}/a", body=b"once")
    silent.close()
    assert silent.lines == ["POST /a HTTP/1.1"]


@pytest.mark.parametrize("url", ["", "market", "ftp://127.0.0.1/", "http://[::1", "http://127.0.0.1:99999/"])
def test_an_address_that_is_none(client: Client, url: str) -> None:
    with pytest.raises(HTTPError):
        client.request("GET", url)
