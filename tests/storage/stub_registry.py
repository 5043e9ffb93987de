"""A registry over real HTTP on this machine: images, logins, tokens, uploads, and every way to misbehave."""

import base64
import gzip
import hashlib
import io
import json
import tarfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


def digest_of(body: bytes) -> str:
    return "sha256:" + hashlib.sha256(body).hexdigest()


def layer_of(files: dict[str, bytes]) -> tuple[bytes, str]:
    """A gzipped layer with these files, and the digest of what it unpacks to."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        for name, content in files.items():
            item = tarfile.TarInfo(name)
            item.size, item.mode = len(content), 0o755
            archive.addfile(item, io.BytesIO(content))
    return gzip.compress(whole.getvalue(), mtime=0), digest_of(whole.getvalue())


class StubRegistry:
    """`manifests` by (repository, tag or digest), `blobs` by digest. With `logins` nobody else reads or writes."""

    def __init__(self) -> None:
        self.manifests: dict[tuple[str, str], tuple[str, bytes]] = {}
        self.blobs: dict[str, bytes] = {}
        self.logins: dict[str, str] = {}
        self.bearer = False  # by token, as Docker Hub does; else Basic
        self.statuses: list[int] = []  # taken one by one, before anything else
        self.hang_after: dict[str, int] = {}  # blob → bytes after which nothing comes any more
        self.held_halfway: set[str] = set()  # blobs whose second half waits for `let_go`
        self.redirect_to = ""  # blobs lie there
        self.asked: list[tuple[str, str, str]] = []  # method, path, authorization
        self.check_token: Callable[[str, str], bool] | None = None
        self.realm = ""
        self.let_go = threading.Event()
        self._server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"registry": self}))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "StubRegistry":
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.let_go.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def add_blob(self, body: bytes) -> str:
        self.blobs[digest_of(body)] = body
        return digest_of(body)

    def add(
        self,
        repository: str,
        tag: str = "latest",
        *,
        layers: list[dict[str, bytes]] | None = None,
        sizes: list[int] | None = None,
        architecture: str = "amd64",
        index: list[str] | None = None,
        **config: Any,
    ) -> str:
        """An image; its digest. `sizes` are claimed in place of the true ones; `index`: architectures of a list over it."""
        made = [layer_of(files) for files in (layers or [{"hello": b"hello"}])]
        about = {
            "architecture": architecture,
            "os": "linux",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [diff for _, diff in made]},
            "history": [{"created_by": "stub"} for _ in made],
        }
        own = json.dumps(about).encode()
        claimed = sizes or [len(body) for body, _ in made]
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": CONFIG, "size": len(own), "digest": self.add_blob(own)},
            "layers": [
                {"mediaType": LAYER, "size": size, "digest": self.add_blob(body)}
                for (body, _), size in zip(made, claimed, strict=False)
            ],
        }
        found = self.put_manifest(repository, tag, MANIFEST, json.dumps(manifest).encode())
        if index is None:
            return found
        listed = [
            {"mediaType": MANIFEST, "digest": found, "size": 1, "platform": {"os": "linux", "architecture": name}}
            for name in index
        ]
        whole = {"schemaVersion": 2, "mediaType": INDEX, "manifests": listed}
        return self.put_manifest(repository, tag, INDEX, json.dumps(whole).encode())

    def put_manifest(self, repository: str, tag: str, kind: str, body: bytes) -> str:
        self.manifests[repository, tag] = self.manifests[repository, digest_of(body)] = (kind, body)
        return digest_of(body)

    def layers_of(self, repository: str, tag: str = "latest") -> list[str]:
        return [layer["digest"] for layer in json.loads(self.manifests[repository, tag][1])["layers"]]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    registry: StubRegistry
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        self._serve()

    do_HEAD = do_POST = do_PATCH = do_PUT = do_GET

    def _serve(self) -> None:
        own, path = self.registry, urlsplit(self.path).path
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) if self.command != "PATCH" else b""
        own.asked.append((self.command, self.path, self.headers.get("Authorization", "")))
        if own.statuses:
            self._reply(own.statuses.pop(0))
        elif path == "/token":
            self._give_token()
        elif not self._may(path):
            self._challenge(path)
        elif path == "/v2/":
            self._reply(200, b"{}")
        elif "/blobs/uploads/" in path:
            self._upload(path, body)
        elif self.command == "PUT":
            self._put_manifest(path, body)
        elif "/blobs/" in path:
            self._blob(path.rpartition("/")[2])
        else:
            self._manifest(path)

    def _may(self, path: str) -> bool:
        own, authorization = self.registry, self.headers.get("Authorization", "")
        if own.check_token is not None:
            return authorization != "" if path == "/v2/" else own.check_token(path, authorization.removeprefix("Bearer "))
        if not own.logins:
            return True
        if own.bearer:
            return authorization in {f"Bearer token-of-{name}" for name in own.logins}
        return authorization in {_basic(name, password) for name, password in own.logins.items()}

    def _challenge(self, path: str) -> None:
        own = self.registry
        repository = path.removeprefix("/v2/").partition("/manifests/")[0].partition("/blobs/")[0]
        actions = "pull,push" if self.command in ("POST", "PUT", "PATCH") else "pull"
        realm = own.realm or f"http://{own.host}/token"
        scope = f',scope="repository:{repository}:{actions}"' if repository else ""
        bearer = f'Bearer realm="{realm}",service="stub"{scope}'
        self._reply(401, b"{}", {"WWW-Authenticate": bearer if own.bearer or own.realm else 'Basic realm="stub"'})

    def _give_token(self) -> None:
        authorization = self.headers.get("Authorization", "")
        for name, password in self.registry.logins.items():
            if authorization == _basic(name, password):
                self._reply(200, json.dumps({"token": f"token-of-{name}"}).encode())
                return
        self._reply(401 if authorization else 200, b'{"token": "of-nobody"}')

    def _manifest(self, path: str) -> None:
        repository, _, wanted = path.removeprefix("/v2/").rpartition("/manifests/")
        found = self.registry.manifests.get((repository, wanted))
        if found is None:
            errors = {"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}
            self._reply(404, json.dumps(errors).encode())
            return
        self._reply(200, found[1], {"Content-Type": found[0], "Docker-Content-Digest": digest_of(found[1])})

    def _blob(self, digest: str) -> None:
        own = self.registry
        body = own.blobs.get(digest)
        if body is None:
            self._reply(404)
        elif own.redirect_to and self.headers.get("Authorization") is not None:
            self._reply(307, b"", {"Location": f"{own.redirect_to}{self.path}"})
        elif digest in own.hang_after and self.command == "GET":
            self._begin(body, own.hang_after[digest])
        elif digest in own.held_halfway and self.command == "GET":
            self._begin(body, len(body) // 2)
            self.wfile.write(body[len(body) // 2 :])
        else:
            self._reply(200, body, {"Docker-Content-Digest": digest})

    def _begin(self, body: bytes, after: int) -> None:
        """So many bytes of it, and nothing more until the test lets go."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:after])
        self.wfile.flush()
        self.registry.let_go.wait(300)
        self.close_connection = True

    def _upload(self, path: str, body: bytes) -> None:
        own = self.registry
        if self.command == "POST":
            self._reply(202, b"", {"Location": f"http://{own.host}{path}{time.monotonic_ns()}", "Range": "0-0"})
        elif self.command == "PATCH":
            own.blobs[path] = self._chunked()
            self._reply(202, b"", {"Location": f"http://{own.host}{path}", "Range": f"0-{len(own.blobs[path])}"})
        else:
            wanted = parse_qs(urlsplit(self.path).query)["digest"][0]
            whole = own.blobs.pop(path, b"") + body
            if digest_of(whole) != wanted:
                self._reply(400)
                return
            own.blobs[wanted] = whole
            self._reply(201, b"", {"Docker-Content-Digest": wanted, "Location": f"http://{own.host}/v2/blobs/{wanted}"})

    def _put_manifest(self, path: str, body: bytes) -> None:
        repository, _, tag = path.removeprefix("/v2/").rpartition("/manifests/")
        digest = self.registry.put_manifest(repository, tag, self.headers.get("Content-Type", MANIFEST), body)
        self._reply(201, b"", {"Docker-Content-Digest": digest})

    def _chunked(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        whole = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def _reply(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()
