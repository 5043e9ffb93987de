"""A socket that answers as another kind of container engine does: what it says of itself, and nothing else."""

import json
import socketserver
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Any, Final

DOCKER: Final[dict[str, Any]] = {
    "Version": "24.0.7",
    "ApiVersion": "1.43",
    "Arch": "amd64",
    "Components": [{"Name": "Engine", "Version": "24.0.7"}, {"Name": "containerd", "Version": "1.7.6"}],
}
INFO: Final[dict[str, Any]] = {
    "ServerVersion": "24.0.7",
    "Driver": "overlay2",
    "DockerRootDir": "/var/lib/docker",
    "CgroupVersion": "2",
    "CgroupDriver": "systemd",
    "SecurityOptions": ["name=seccomp,profile=builtin", "name=cgroupns"],
    "MemoryLimit": True,
    "SwapLimit": True,
    "CpuCfsQuota": True,
    "PidsLimit": True,
    "Runtimes": {"runc": {"path": "runc"}},
}
# As Podman 4.3 of Debian 12 says it.
PODMAN: Final[dict[str, Any]] = {
    "Version": "4.3.1",
    "ApiVersion": "1.41",
    "Arch": "amd64",
    "Components": [{"Name": "Podman Engine", "Version": "4.3.1"}, {"Name": "Conmon", "Version": "conmon version 2.1.6"}],
}
ROOTLESS: Final = ["name=seccomp,profile=builtin", "name=rootless", "name=cgroupns"]


class OtherEngine:
    """Listens at a socket of its own while it is entered."""

    def __init__(self, folder: Path, *, version: dict[str, Any] = DOCKER, **info: Any) -> None:
        self.socket = folder / "engine.sock"
        answers = {"/version": version, "/info": {**INFO, **info}, "/_ping": {}}
        self.asked: list[str] = []
        handler = type("Handler", (_Handler,), {"answers": answers, "asked": self.asked})
        self._server = socketserver.ThreadingUnixStreamServer(str(self.socket), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> "OtherEngine":
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answers: dict[str, Any]
    asked: list[str]

    def do_GET(self) -> None:
        path = "/" + self.path.partition("?")[0].rpartition("/")[2]
        self.asked.append(f"GET {path}")
        body = json.dumps(self.answers.get(path, {"message": "page not found"})).encode()
        self.send_response(200 if path in self.answers else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.asked.append(f"POST {self.path}")
        self.send_error(500)

    def address_string(self) -> str:
        return "socket"

    def log_message(self, *_: Any) -> None:
        return
