"""moto's S3 over real HTTP, with a gate: `-m tests.storage.object_store_server ADDRESS PORT FOLDER`.

Requests whose path holds the text in FOLDER/hold wait until that file is gone or empty. FOLDER/held lists those that came.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

_LOOK = 0.02


class Gate:
    """Around the whole application."""

    def __init__(self, application: Callable[..., Iterable[bytes]], folder: Path) -> None:
        self._application = application
        self._folder = folder
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}"
        if self._holds(path):
            with self._lock, (self._folder / "held").open("a") as file:
                file.write(path + "\n")
            while self._holds(path):
                time.sleep(_LOOK)
        return self._application(environ, start_response)

    def _holds(self, path: str) -> bool:
        try:
            wanted = (self._folder / "hold").read_text()
        except FileNotFoundError:
            return False
        return bool(wanted) and wanted in path


def main(address: str, port: int, folder: Path) -> None:
    application = Gate(DomainDispatcherApplication(create_backend_app), folder)
    server = make_server(address, port, application, threaded=True)
    (folder / "port").write_text(str(server.port))
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
