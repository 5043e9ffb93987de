"""Copying over HTTPS through the market's relay, for machines without SSH: resumed after a break, checked by SHA-256."""

import contextlib
import hashlib
import http.client
import json
import os
import posixpath
import socket
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import urlencode, urlsplit

from berth._sync.transport import connect_to
from berth.cli.archives import link, pack, size_of, unpack_all
from berth.cli.framework import Refused, session
from berth.cli.progress import Bar, Counted
from berth.errors import BerthError, ConnectionFailed, ServerError

_CONNECT_S, _SILENCE_S = 10.0, 120.0
_CHECKSUM_S, _SLOWEST_SUM = 1_000.0, 10_000_000  # the host may take 900 s, and one more for every so many bytes
_PROBES: Final = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 6}  # seconds, and how many stay unanswered
_PIECE: Final = 256 * 1024
_ATTEMPTS, _PAUSE_S = 5, 1.0
_HOME: Final = "/root"
_OK, _PARTIAL, _CREATED, _UNAUTHORIZED, _NOT_FOUND = 200, 206, 201, 401, 404
_REFUSALS: Final = range(400, 500)
_AWAY: Final = range(502, 505)
# Why the relay doesn't reach the host's agent at the moment, or not with this address; empty: a proxy's own answer.
_PASSING: Final = frozenset({"", "bad_grant", "changed", "dial_failed", "dial_timeout", "host_away", "too_many_streams"})
_TAR: Final = "application/x-tar"


class _Passing(Exception):
    """The market can't go on with a copy now, or not with this address: another attempt may."""


_BROKEN: Final = (OSError, http.client.HTTPException, _Passing, ConnectionFailed, ServerError)


class Remote:
    """Files of one instance; `bar` makes what shows how far a copy is."""

    def __init__(self, instance_id: str, bar: Callable[[str], Bar] = Bar) -> None:
        self._id, self._bar = instance_id, bar

    def kind(self, path: str) -> str:
        """Return "file", "folder", or "" for nothing.

        Raises:
            Refused: the instance doesn't say.
        """
        with self._ask("HEAD", self._address("download", path)) as reply:
            if reply.status == _NOT_FOUND:
                return ""
            if reply.status != _OK:
                raise Refused(f"{path}: the market answers {reply.status}.", 1)
            return "folder" if reply.getheader("Content-Type") == _TAR else "file"

    def send_file(self, source: Path, path: str) -> None:
        """Write a file, as a new one or in place of one that is there; go on where a break was."""
        with source.open("rb") as file, self._bar(source.name) as bar:
            size, sha256 = os.fstat(file.fileno()).st_size, hashlib.file_digest(file, "sha256").hexdigest()
            bar.expect(size)
            is_first, digest = True, None

            def attempt() -> None:
                nonlocal is_first, digest
                url = self._address("upload", path, sha256=sha256, replace="1")
                arrived = 0 if is_first else self._arrived(f"{url}&{urlencode({'size': size})}")
                was_sent = not is_first and file.tell() == size
                if was_sent and not arrived and self._sum(path, size)[0] == sha256:
                    digest = sha256  # it is there, and only the answer was lost
                    return
                is_first = False
                first = max(0, min(arrived, size - 1))  # of a file that is all there, the last byte once more
                file.seek(first)
                body, headers = Counted(file, bar.at, start=first), {"Content-Length": str(size - first)}
                digest = self._put(url, body, headers | _range(first, size), size=size)

            _persist(attempt)
        if digest is None:
            _note_unchecked(source.name, "the image has no sha256sum")

    def send_folder(self, source: Path, path: str) -> None:
        """Unpack a folder's contents into a folder, which is made if it isn't there."""
        failed: list[Exception] = []
        reader, writer = os.pipe()
        packing = threading.Thread(target=pack, args=(source, writer, failed), daemon=True)
        packing.start()
        with os.fdopen(reader, "rb") as archive, self._bar(source.name) as bar:
            bar.expect(size_of(source))
            try:
                self._put(self._address("upload", path, unpack="1", make_folders="1"), Counted(archive, bar.at), {})
            except _BROKEN as error:
                raise Refused(f"The connection broke: {error or type(error).__name__}. Copy the folder again.", 7) from error
        packing.join()
        if failed:
            raise Refused(f"Not all of the folder could be read, and not all of it was copied: {failed[0]}", 1)

    def fetch_file(self, path: str, target: Path) -> None:
        """Write a file of the instance here; it has its name only once it is whole and has been checked."""
        part, tag = target.with_name(f".{target.name}.berth-part"), ""
        try:
            with part.open("wb") as file, self._bar(target.name) as bar:

                def attempt() -> None:
                    nonlocal tag
                    at = file.tell()
                    headers = {"Range": f"bytes={at}-", "If-Range": tag} if at and tag else {}
                    with self._ask("GET", self._address("download", path), headers=headers) as reply:
                        _must(reply, path, _OK, _PARTIAL)
                        if reply.status == _OK:
                            file.seek(0)
                            file.truncate()
                        tag = reply.getheader("ETag") or ""
                        bar.expect(file.tell() + (reply.length or 0))
                        _read_all(reply, file, bar.at)

                _persist(attempt)
            self._check(path, part, tag=tag, name=target.name)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)

    def _check(self, path: str, part: Path, *, tag: str, name: str) -> None:
        """Compare what has come with the instance's file; `tag` is of the file that came.

        Raises:
            Refused: it differs, and the file didn't change meanwhile.
        """
        with part.open("rb") as file:
            size, own = os.fstat(file.fileno()).st_size, hashlib.file_digest(file, "sha256").hexdigest()
        digest, why = "", ""

        def attempt() -> None:
            nonlocal digest, why
            digest, why = self._sum(path, size)
            if digest not in ("", own) and self._tag(path) != tag:
                why = "it has changed meanwhile"

        try:
            _persist(attempt)
        except (Refused, BerthError) as error:  # what has come is kept: the instance may be gone by now
            why = str(error)
        if why:
            _note_unchecked(name, why)
        elif digest != own:
            raise Refused(f"{path}: what has arrived differs from the file in the instance. Copy it again.", 1)

    def _sum(self, path: str, size: int) -> tuple[str, str]:
        """Return the checksum of a file of the instance, and if it isn't told, why."""
        with self._ask("GET", self._address("download", path, sum="1"), patience_s=_checksum_s(size)) as reply:
            try:
                _must(reply, path, _OK)
            except Refused as error:
                return "", str(error)
            if reply.getheader("Content-Type") != "application/json":
                return "", "the market is too old"
            return str(_words(reply).get("sha256")), ""

    def _tag(self, path: str) -> str:
        with self._ask("HEAD", self._address("download", path)) as reply:
            return reply.getheader("ETag") or ""

    def fetch_folder(self, path: str, target: Path) -> None:
        """Unpack the contents of a folder of the instance here; links out of it are left out."""
        target.mkdir(exist_ok=True)
        try:
            with self._ask("GET", self._address("download", path)) as reply, self._bar(target.name) as bar:
                _must(reply, path, _OK)
                links = unpack_all(Counted(reply, bar.at), target)
                if reply.length:
                    raise http.client.IncompleteRead(b"", reply.length)
        except (*_BROKEN, tarfile.TarError) as error:
            detail = f"Not all of the folder was read, or the connection broke: {error or type(error).__name__}."
            raise Refused(f"{detail} Copy it again.", 7) from error
        for place, to in links:
            link(place, to)

    def _arrived(self, url: str) -> int:
        with self._ask("HEAD", url) as reply:
            if reply.status == _UNAUTHORIZED or reply.status in _AWAY:
                raise _Passing(f"the market answers {reply.status}")
            if reply.status in _REFUSALS:
                raise Refused(f"It can't be written there: the market answers {reply.status}.", 1)
            offset = reply.getheader("Upload-Offset") or ""
            return int(offset) if reply.status == _OK and offset.isdigit() else 0

    def _address(self, kind: Any, path: str, **query: str) -> str:
        url = session().client.instances.open_stream(self._id, kind=kind, path=path).url
        return f"{url}&{urlencode(query)}" if query else url

    def _put(self, url: str, body: Counted, headers: dict[str, str], *, size: int = 0) -> Any:
        """Send a body and return the checksum of the file of `size` that was written, None if there is none."""
        with self._ask("PUT", url, body=body, headers=headers, patience_s=_checksum_s(size)) as reply:
            _must(reply, "", _CREATED)
            return _words(reply).get("sha256")

    @contextlib.contextmanager
    def _ask(
        self,
        method: str,
        url: str,
        *,
        body: Counted | None = None,
        headers: dict[str, str] | None = None,
        patience_s: float = _SILENCE_S,
    ) -> Iterator[http.client.HTTPResponse]:
        """Make a request, whose answer may take `patience_s` once the body has been sent."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            raise Refused("The market gives an address for files that isn't one.", 1)
        connection = connect_to(parts, _CONNECT_S)
        try:
            _notice_silence(connection.sock)
            connection.sock.settimeout(_SILENCE_S)
            try:
                connection.request(method, f"{parts.path}?{parts.query}", body=body, headers=headers or {})
            except (BrokenPipeError, ConnectionResetError):  # an answer before the whole body was sent says why
                reply = http.client.HTTPResponse(connection.sock, method=method)
                reply.begin()
            else:
                connection.sock.settimeout(patience_s)
                reply = connection.getresponse()
            yield reply
        finally:
            connection.close()


def remote_path(path: str) -> str:
    """Return a path as SSH would take it: from root's home on."""
    return posixpath.join(_HOME, path.removeprefix("~/") if path != "~" else ".")


def _checksum_s(size: int) -> float:
    """Return how long a host may be silent while it computes a checksum."""
    return _CHECKSUM_S + size / _SLOWEST_SUM


def _notice_silence(sock: socket.socket) -> None:
    """Have the system notice when the other side is gone: it may be silent for long without that."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES.items():
        if hasattr(socket, name):  # not on every system
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _range(first: int, size: int) -> dict[str, str]:
    return {"Content-Range": f"bytes {first}-{size - 1}/{size}"} if first else {}


def _persist(attempt: Callable[[], None]) -> None:
    """Repeat what breaks off, each time with an address of its own, since one ends after an hour."""
    for count in range(_ATTEMPTS):
        try:
            attempt()
            return
        except _BROKEN as error:
            if count == _ATTEMPTS - 1:
                raise Refused(f"The connection broke {_ATTEMPTS} times: {error or type(error).__name__}", 7) from error
            time.sleep(_PAUSE_S * 2**count)


def _read_all(reply: http.client.HTTPResponse, file: IO[bytes], seen: Callable[[int], None]) -> None:
    while piece := reply.read(_PIECE):
        file.write(piece)
        seen(file.tell())
    if reply.length:
        raise http.client.IncompleteRead(b"", reply.length)


def _must(reply: http.client.HTTPResponse, what: str, *wanted: int) -> None:
    """Raise Refused with the market's words for any other answer, or _Passing if it may be another one soon."""
    if reply.status in wanted:
        return
    problem = _words(reply)
    detail, code = str(problem.get("detail", f"the market answers {reply.status}")), str(problem.get("code", ""))
    if reply.status == _UNAUTHORIZED or (reply.status in _AWAY and code in _PASSING):
        raise _Passing(detail)
    raise Refused(f"{what}: {detail}" if what else detail, 1)


def _words(reply: http.client.HTTPResponse) -> dict[str, Any]:
    """Return an answer's JSON object, or an empty one."""
    try:
        found = json.loads(reply.read(_PIECE))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _note_unchecked(name: str, why: str) -> None:
    session().out.note(f"{name} was copied, but not checked: {why}")
