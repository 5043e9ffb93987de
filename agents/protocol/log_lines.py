"""Log lines that nobody else can write: what came from outside ends no line, begins none and moves no cursor.

A header, a container's name or an error's words may hold line ends and escape sequences: written as they are, they would
forge lines of their own or rewrite what a terminal shows.
"""

import logging
import re
from typing import Final

LINE: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_INDENT: Final = "    "
_LINE_ENDS: Final = re.compile(r"\r\n|\n")


class OneLine(logging.Formatter):
    """One line for each record. A traceback follows in lines that are indented, so that none looks like a record."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return escaped(super().formatMessage(record))

    def formatException(self, ei: "logging._SysExcInfoType") -> str:
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        return _indented(super().formatStack(stack_info))


def escaped(text: str) -> str:
    """Everything that does not show as itself, as Python would write it: line ends, escapes, marks that turn text around."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def _indented(text: str) -> str:
    return "\n".join(_INDENT + escaped(line) for line in _LINE_ENDS.split(text))


def use_one_line(level: int = logging.INFO, *, form: str = LINE) -> None:
    """For a program without Django: the root's only handler writes such lines to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine(form))
    logging.basicConfig(level=level, handlers=[handler])
