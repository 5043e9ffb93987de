"""Log formatting that keeps untrusted text on one line.

A header, a container's name or an error message may contain line breaks and escape sequences. Written as they are,
they would forge log lines or change what a terminal shows.
"""

import logging
import re
from typing import Final

LINE: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_INDENT: Final = "    "
_LINE_ENDS: Final = re.compile(r"\r\n|\n")


class OneLineFormatter(logging.Formatter):
    """Formatter for one line per record; tracebacks are indented, so that none looks like a record."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return escaped(super().formatMessage(record))

    def formatException(self, ei: "logging._SysExcInfoType") -> str:
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        return _indented(super().formatStack(stack_info))


def escaped(text: str) -> str:
    """Escape all unprintable characters as Python does, such as line breaks and bidirectional marks."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def _indented(text: str) -> str:
    return "\n".join(_INDENT + escaped(line) for line in _LINE_ENDS.split(text))


def use_one_line(level: int = logging.INFO, *, form: str = LINE) -> None:
    """Make the root logger write one-line records to standard error, in a program without Django."""
    handler = logging.StreamHandler()
    handler.setFormatter(OneLineFormatter(form))
    logging.basicConfig(level=level, handlers=[handler])
