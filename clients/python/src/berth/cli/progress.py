"""Progress on stderr: a line that changes on a terminal, one line for each step elsewhere."""

import sys
import time
from collections.abc import Callable
from io import BufferedIOBase
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Final, Self

from berth.cli.framework import Session, printable

if TYPE_CHECKING:
    from berth import models

_BETWEEN_S: Final = 0.1


class Progress:
    """Shows the state of an instance while one waits for it."""

    def __init__(self, doing: str, session: Session) -> None:
        self._doing, self._session = doing, session
        self._began = time.monotonic()
        self._last = ""
        self._status: Any = None

    def __enter__(self) -> Self:
        if _draws(self._session):
            from rich.console import Console

            self._status = Console(stderr=True).status(self._doing)
            self._status.__enter__()
        return self

    def show(self, instance: "models.InstanceOut") -> None:
        text = printable(instance.state + (f": {instance.progress}" if instance.progress else ""))
        if self._status is not None:
            from rich.text import Text

            self._status.update(Text(f"{text} ({time.monotonic() - self._began:.0f} s)"))
        elif text != self._last:
            self._session.out.note(text)
        self._last = text

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._status is not None:
            self._status.__exit__(kind, error, trace)


def _draws(session: Session) -> bool:
    return sys.stderr.isatty() and session.out.form in ("table", "wide")


class Bar:
    """How far a copy is. This one shows nothing."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> Self:
        return self

    def expect(self, total: int) -> None:
        """Say how many bytes there are in all."""

    def at(self, done: int) -> None:
        """Say how many bytes have been copied."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Leave the last state on the screen."""


class _DrawnBar(Bar):
    """A line with name, bar, bytes, speed and the time that is left."""

    _done, _shown_at = 0, 0.0

    def __enter__(self) -> Self:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

        name = TextColumn("{task.description}", markup=False)
        columns = (name, BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        self._drawn = Progress(*columns, console=Console(stderr=True))
        self._task = self._drawn.add_task(printable(self.name), total=None)
        self._drawn.__enter__()
        return self

    def expect(self, total: int) -> None:
        self._drawn.update(self._task, total=total)

    def at(self, done: int) -> None:
        self._done = done
        if time.monotonic() - self._shown_at > _BETWEEN_S:  # a piece is 8 KiB, and each update takes a lock
            self._shown_at = time.monotonic()
            self._drawn.update(self._task, completed=done)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self._drawn.update(self._task, total=self._done, completed=self._done)
        self._drawn.__exit__(kind, error, trace)


def bars(session: Session) -> Callable[[str], Bar]:
    """Return what shows how far a copy is: on a terminal a bar, elsewhere nothing."""
    return _DrawnBar if _draws(session) else Bar


class Counted(BufferedIOBase):
    """A file that is read from its start or a later byte on, and tells how far it is."""

    def __init__(self, file: IO[bytes], seen: Callable[[int], None], *, start: int = 0) -> None:
        self._file, self._seen, self._at = file, seen, start

    def read(self, size: int | None = -1, /) -> bytes:
        piece = self._file.read(-1 if size is None else size)
        self._at += len(piece)
        self._seen(self._at)
        return piece
