"""Files that the package index lacks, found by the builder's own pip and served to one build.

PyTorch's CPU build is at no public package index but at PyTorch's own, in a mirror, or on the builder's disk: wherever
the builder's pip is told to look (PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS, pip.conf). The lock's hash decides.
"""

import functools
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from scripts.images.matrix import Flavour, MatrixError

# The address is an argument of the build: another port would be another build, from the start.
PORTS: Final = range(18_700, 18_720)
# What pip says when it has no such file; the second where its configuration also has constraints for the package.
_NOT_FOUND: Final = ("No matching distribution found", "ResolutionImpossible")


class FilesMissing(MatrixError):
    """The builder's pip finds no file for a package that it has to hand to the build."""


@contextmanager
def handed_over(flavour: Flavour) -> Iterator[str]:
    """Serve the flavour's files on this machine meanwhile; yield the address of their list, or "" if it has none.

    Raises:
        FilesMissing: pip does not find them.
        subprocess.CalledProcessError: pip failed for another reason, such as a file with another hash.
    """
    if not flavour.handed_over:
        yield ""
        return
    with tempfile.TemporaryDirectory(prefix="berth-wheels-") as name:
        _download(flavour, Path(name))
        server = _server(Path(name))
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def requirements(lock: str, packages: tuple[str, ...]) -> str:
    """Return the entries of a lock for these packages, with their hashes."""
    entries = re.split(r"\n(?=\S)", lock)
    return "\n".join(entry for entry in entries if entry.partition("==")[0] in packages) + "\n"


def _download(flavour: Flavour, folder: Path) -> None:
    wanted = folder / "wanted.txt"
    lock = (flavour.folder / flavour.lock).read_text(encoding="utf-8")
    entries = requirements(lock, flavour.handed_over)
    wanted.write_text(entries, encoding="utf-8")
    platform = ["--python-version", flavour.python, "--platform", f"manylinux_{flavour.glibc}_x86_64"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", *platform]
    command += ["--require-hashes", "-r", str(wanted), "-d", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (words of the matrix)
    if any(words in done.stderr for words in _NOT_FOUND):
        names = ", ".join(line.split()[0] for line in entries.splitlines() if "==" in line)
        raise FilesMissing(
            f"pip doesn't find {names}: set PIP_FIND_LINKS to a folder or page with it, or PIP_EXTRA_INDEX_URL to an index"
        )
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, "pip", done.stdout + done.stderr)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing of each request."""


def _server(folder: Path) -> ThreadingHTTPServer:
    handler = functools.partial(_Quiet, directory=str(folder))
    for port in PORTS:
        try:
            return ThreadingHTTPServer(("127.0.0.1", port), handler)
        except OSError:
            continue
    raise OSError(f"No port from {PORTS.start} to {PORTS.stop - 1} is free.")
