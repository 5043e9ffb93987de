"""Progress on stderr: a line that changes on a terminal, one line for each step elsewhere."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from berth.cli.framework import Session, printable

if TYPE_CHECKING:
    from berth import models


class Progress:
    """Shows the state of an instance while one waits for it."""

    def __init__(self, doing: str, session: Session) -> None:
        self._doing, self._session = doing, session
        self._began = time.monotonic()
        self._last = ""
        self._status: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and self._session.out.form in ("table", "wide"):
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
