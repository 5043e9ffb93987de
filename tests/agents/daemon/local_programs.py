"""Programs of this machine in place of a container's, seen as an engine shows them: what the scripts do is done for real."""

import os
import socket
import struct
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO


class LocalCommand:
    """One program of this machine whose input and output are an engine's frames."""

    first = b""

    def __init__(self, words: Sequence[str], env: Mapping[str, str]) -> None:
        self.connection, self._far = socket.socketpair()
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **env},
            start_new_session=True,
        )
        self._sending = threading.Lock()
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._pumps = [
            threading.Thread(target=self._show, args=(kind, pipe), daemon=True)
            for kind, pipe in ((1, self._process.stdout), (2, self._process.stderr))
        ]
        for thread in (*self._pumps, threading.Thread(target=self._feed, daemon=True)):
            thread.start()
        threading.Thread(target=self._close, daemon=True).start()

    def exit_code(self) -> int | None:
        return self._process.poll()

    def _show(self, kind: int, pipe: IO[bytes]) -> None:
        with pipe:
            while piece := pipe.read1(65536):  # type: ignore[attr-defined]  # a buffered pipe
                with self._sending, suppress(OSError):
                    self._far.sendall(struct.pack(">BxxxL", kind, len(piece)) + piece)

    def _feed(self) -> None:
        assert self._process.stdin is not None
        with suppress(OSError), self._process.stdin as pipe:
            while piece := self._far.recv(65536):
                pipe.write(piece)
                pipe.flush()

    def _close(self) -> None:
        for thread in self._pumps:
            thread.join()
        self._process.wait()
        with suppress(OSError):
            self._far.shutdown(socket.SHUT_RDWR)
        self._far.close()
