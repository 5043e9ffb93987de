"""Files sent by plain HTTP: where the ticket says and nowhere else, whole or not at all, continued after a break."""

import hashlib
import io
import os
import socket
import tarfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes, urlencode, urlsplit

import httpx
import pytest

from agents.daemon.files import script_runner
from tests.waiting import wait_until

from .conftest import Relay
from .streaming import StreamHost, slow_checksums

Put = Callable[..., httpx.Response]


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def address(relay: Relay, host: StreamHost) -> Callable[..., str]:
    def of(path: Path | str, **query: str) -> str:
        grant = host.grant("write", path=quote_from_bytes(os.fsencode(path)), once=False)
        return f"{relay.url}/relay/v1/upload?{urlencode({'ticket': host.ticket(grant), **query})}"

    return of


@pytest.fixture
def put(address: Callable[..., str]) -> Put:
    def send(path: Path | str, content: Any, headers: dict[str, str] | None = None, **query: str) -> httpx.Response:
        return httpx.put(address(path, **query), content=content, headers=headers, timeout=20)

    return send


def break_off(url: str, head: str, content: bytes) -> None:
    """Send the head of a request and a part of its body, and hang up."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname or "", parts.port or 80)) as connection:
        line = f"PUT {parts.path}?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\n{head}\r\n\r\n"
        connection.sendall(line.encode() + content)


def test_a_file_is_there_whole_and_equal(put: Put, tmp_path: Path) -> None:
    content, file = os.urandom(3_000_000), tmp_path / '数据 "x"\n'
    for query in ({}, {"sha256": digest(content), "replace": "1"}):
        reply = put(file, content, **query)
        assert (reply.status_code, reply.json()) == (201, {"size": len(content), "sha256": digest(content)})
        assert file.read_bytes() == content
    assert put(tmp_path / "new" / "empty", b"", make_folders="true").status_code == 201
    assert (tmp_path / "new" / "empty").read_bytes() == b""
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(['数据 "x"\n', "new"])


def test_what_is_there_is_not_replaced_unasked(put: Put, tmp_path: Path) -> None:
    file = tmp_path / "kept"
    file.write_bytes(b"old")
    refused = put(file, b"new")
    assert (refused.status_code, refused.json()["code"], file.read_bytes()) == (409, "exists", b"old")
    assert put(file, b"new", replace="1").status_code == 201
    assert file.read_bytes() == b"new"


@pytest.mark.parametrize(
    ("query", "headers", "status", "code"),
    [
        ({"sha256": "00" * 32}, {}, 422, "checksum_differs"),
        ({"sha256": "zz"}, {}, 400, "bad_request"),
        ({"replace": "maybe"}, {}, 400, "bad_request"),
        ({}, {"Content-Range": "bytes 5-9/10"}, 400, "bad_request"),
        ({"sha256": "00" * 32}, {"Content-Range": "bytes 5-9/10"}, 400, "bad_request"),
        ({"sha256": "00" * 32}, {"Content-Range": "bytes 4-8/10"}, 400, "bad_request"),
        ({"sha256": "00" * 32}, {"Content-Range": "nonsense"}, 400, "bad_request"),
        ({"sha256": "00" * 32}, {"Content-Range": "bytes 6-9/10"}, 409, "wrong_offset"),
        ({"sha256": "00" * 32}, {"Content-Range": "bytes 11-9/10"}, 400, "bad_request"),
    ],
)
def test_what_is_refused(
    put: Put, tmp_path: Path, query: dict[str, str], headers: dict[str, str], *, status: int, code: str
) -> None:
    reply = put(tmp_path / "file", b"1234", headers, **query)
    assert (reply.status_code, reply.json()["code"]) == (status, code)
    assert not (tmp_path / "file").exists()


def test_where_it_cannot_be_put(put: Put, tmp_path: Path) -> None:
    assert put(tmp_path / "no" / "folder", b"x").json()["code"] == "missing"
    assert put(tmp_path, b"x").json()["code"] == "is_folder"

    def pieces() -> Iterator[bytes]:
        yield b"x"

    assert put(tmp_path / "file", pieces()).status_code == 411


def test_a_broken_upload_is_continued_where_it_broke(put: Put, address: Callable[..., str], tmp_path: Path) -> None:
    content, file = os.urandom(2_000_000), tmp_path / "model.bin"
    known = {"sha256": digest(content)}
    url = address(file, **known)
    break_off(url, f"Content-Length: {len(content)}", content[:1_200_000])

    def arrived() -> int:
        return int(httpx.head(f"{url}&size={len(content)}", timeout=20).headers["Upload-Offset"])

    wait_until("a part of it", lambda: arrived() > 0)
    assert not file.exists()
    first = arrived()
    assert 0 < first <= 1_200_000
    named = {"Content-Range": f"bytes {first}-{len(content) - 1}/{len(content)}"}
    assert put(file, content[first:], named, **known).status_code == 201
    assert file.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["model.bin"]


def test_the_whole_may_be_sent_again_and_another_content_never_mixes(
    put: Put, address: Callable[..., str], tmp_path: Path
) -> None:
    first, second, file = os.urandom(900_000), os.urandom(900_000), tmp_path / "file"
    break_off(address(file, sha256=digest(first)), "Content-Length: 900000", first[:700_000])
    assert put(file, second, sha256=digest(second)).status_code == 201
    assert file.read_bytes() == second
    assert put(file, first, sha256=digest(first), replace="1").status_code == 201
    assert file.read_bytes() == first


def test_without_a_checksum_a_broken_upload_leaves_nothing(address: Callable[..., str], tmp_path: Path) -> None:
    break_off(address(tmp_path / "file"), "Content-Length: 900000", os.urandom(500_000))
    wait_until("nothing is left", lambda: not list(tmp_path.iterdir()))
    assert httpx.head(address(tmp_path / "file", size="9"), timeout=20).status_code == 400


@pytest.fixture
def sums(host: StreamHost, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return slow_checksums(host, tmp_path_factory.mktemp("sums"))


def test_a_file_that_is_all_there_needs_no_more_bytes(
    put: Put, address: Callable[..., str], tmp_path: Path, sums: Path
) -> None:
    """Its sender was lost while the checksum was computed: another one need not wait for that, and has nothing to send."""
    content, file = os.urandom(300_000), tmp_path / "file"
    size, known = len(content), {"sha256": digest(content)}
    with ThreadPoolExecutor(1) as pool:
        lost = pool.submit(put, file, content, **known)
        wait_until("the checksum is computed", (sums / "begun").exists)
        assert httpx.head(address(file, size=str(size), **known), timeout=20).headers["Upload-Offset"] == str(size)
        assert lost.result().json()["code"] == "taken_over"
    assert not file.exists()
    (sums / "go").write_text("0")
    reply = put(file, b"", {"Content-Range": f"bytes {size}-{size - 1}/{size}"}, **known)
    assert (reply.status_code, file.read_bytes()) == (201, content)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_checksum_may_take_the_longer_the_larger_the_file_is(
    put: Put, tmp_path: Path, sums: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script_runner, "LONG_S", 0.2)
    monkeypatch.setattr(script_runner, "SLOWEST_SUM", 10_000)
    (sums / "go").write_text("1")
    assert put(tmp_path / "small", b"x", sha256=digest(b"x")).json()["code"] == "too_slow"
    large = b"x" * 300_000
    assert put(tmp_path / "large", large, sha256=digest(large)).status_code == 201


def packed(**files: bytes) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name.replace("__", "/"))
            entry.size, entry.uid, entry.gid, entry.mtime = len(content), 12345, 12345, 1_700_000_000
            tar.addfile(entry, io.BytesIO(content))
    return archive.getvalue()


def test_an_archive_is_unpacked(put: Put, tmp_path: Path) -> None:
    archive = packed(one=b"1", sub__two=b"2" * 300_000)
    reply = put(tmp_path / "there", archive, unpack="1", make_folders="1")
    assert (reply.status_code, reply.json()) == (201, {"size": None, "sha256": None})
    assert (tmp_path / "there" / "sub" / "two").read_bytes() == b"2" * 300_000
    assert (tmp_path / "there" / "one").stat().st_uid == os.getuid(), "it belongs to who unpacks it"

    def pieces() -> Iterator[bytes]:
        for at in range(0, len(archive), 1000):
            yield archive[at : at + 1000]

    assert put(tmp_path / "there", pieces(), unpack="1").status_code == 201  # of unknown length


def test_archives_that_are_none(put: Put, tmp_path: Path) -> None:
    assert put(tmp_path / "none", packed(one=b"1"), unpack="1").json()["code"] == "missing"
    broken = put(tmp_path, b"no archive" * 100_000, unpack="1")
    assert (broken.status_code, broken.json()["code"]) == (502, "failed")
    (tmp_path / "file").touch()
    assert put(tmp_path / "file", packed(one=b"1"), unpack="1").json()["code"] == "not_folder"


def test_a_ticket_is_for_its_path_and_for_writing_alone(relay: Relay, host: StreamHost, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")

    def ask(kind: str, way: str, method: str) -> httpx.Response:
        grant = host.grant(kind, path=quote_from_bytes(os.fsencode(tmp_path / "secret")), once=False)
        url = f"{relay.url}/relay/v1/{way}"
        return httpx.request(method, url, params={"ticket": host.ticket(grant)}, content=b"x", timeout=20)

    assert ask("write", "download", "GET").json()["code"] == "unknown_request"
    assert ask("read", "upload", "PUT").json()["code"] == "unknown_request"
    assert ask("write", "upload", "POST").status_code == 405
    assert httpx.put(f"{relay.url}/relay/v1/upload", params={"ticket": host.sign("user:x")}, timeout=20).status_code == 401
    forged = host.ticket(host.grant("write", path="/etc/passwd", key="00" * 32))
    reply = httpx.put(f"{relay.url}/relay/v1/upload", params={"ticket": forged}, content=b"x", timeout=20)
    assert reply.json()["code"] == "bad_grant"
    host.follow(run="stopped")
    assert ask("write", "upload", "PUT").json()["code"] == "not_running"
    assert (tmp_path / "secret").read_bytes() == b"secret"
