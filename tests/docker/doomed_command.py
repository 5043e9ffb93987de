"""A command of berth-agent that dies before one of its effects: `doomed_command.py ROOT STEPS STEP PASSES WORDS…`.

Every effect on what is below the folder ROOT, and every program and signal, is announced by the interpreter and written
to the file STEPS, one a line. When the STEP comes for the so-manieth time, it ends by SIGKILL. Nothing of the tests is
imported: it runs in the environment of an installed agent.
"""

import os
import re
import signal
import sys
from typing import Any, Final

from agents.daemon.__main__ import main

_NAMES: Final = re.compile(r"\d+\.\d+\.\d+-\w+|[0-9a-f]{32}|\d{3,}")  # of a version, of a host, of a process
_PLACES: Final = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate", "shutil.rmtree")
_WRITE: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Announcer:
    """An audit hook that counts one step, and ends the process when it comes for the so-manieth time."""

    def __init__(self, root: str, steps: str, fatal: str, passes: int) -> None:
        self._root, self._fatal, self._left = root, fatal, passes
        self._file = os.open(steps, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        step = self._step_of(event, args)
        if not step:
            return
        os.write(self._file, f"{step}\n".encode())
        if step == self._fatal:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def _step_of(self, event: str, args: tuple[Any, ...]) -> str:
        if event == "subprocess.Popen":
            words = [str(word) for word in args[1]]
            return f"run {' '.join(word for word in words[1:5] if not word.startswith('/'))}"
        if event == "os.kill":
            return f"signal {args[1]}" if args[0] != os.getpid() else ""
        if event == "open":
            is_write = isinstance(args[2], int) and bool(args[2] & _WRITE)
            return self._place("write", args[0]) if is_write else ""
        if event in _PLACES:
            return self._place(event.partition(".")[2], args[1] if event == "os.symlink" else args[0])
        return ""

    def _place(self, verb: str, path: object) -> str:
        text = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
        return f"{verb} {_NAMES.sub('N', str(text).removeprefix(self._root))}" if str(text).startswith(self._root) else ""


if __name__ == "__main__":
    root, steps, fatal, passes, *words = sys.argv[1:]
    sys.addaudithook(Announcer(root, steps, fatal, int(passes)).hear)
    sys.exit(main(words))
