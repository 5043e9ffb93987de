"""Output: data on stdout in the format that was asked for, everything else on stderr."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import click
import msgspec

from berth.cli.framework import printable

T = TypeVar("T")


@dataclass(frozen=True)
class Column(Generic[T]):
    """One column of a table: its heading, its text for a row, and whether only `--output wide` has it."""

    title: str
    text: Callable[[T], object]
    wide: bool = False
    right: bool = False


class Output:
    """Where data goes; messages go to stderr, so that stdout can be piped."""

    def __init__(self, form: str) -> None:
        self.form = form

    @property
    def is_json(self) -> bool:
        return self.form == "json"

    def note(self, text: str) -> None:
        """Print a message for people."""
        sys.stderr.write(printable(text) + "\n")

    def json(self, value: object) -> None:
        sys.stdout.write(as_json(value, indent=2) + "\n")

    def line(self, text: object) -> None:
        sys.stdout.write(printable(str(text)) + "\n")

    def rows(self, rows: Iterable[T], columns: Sequence[Column[T]], *, name: Callable[[T], str], empty: str = "") -> None:
        """Print a list: JSON, names, a table on a terminal, or tab-separated values in a pipe."""
        found = list(rows)
        if self.is_json:
            self.json(found)
        elif self.form == "name":
            sys.stdout.write("".join(f"{printable(name(each))}\n" for each in found))
        elif not found:
            self.note(empty or "Nothing found.")
        else:
            self._table(found, [each for each in columns if self.form == "wide" or not each.wide])

    def _table(self, rows: list[T], columns: Sequence[Column[T]]) -> None:
        texts = [[_text(column.text(row)) for column in columns] for row in rows]
        if not sys.stdout.isatty():
            lines = ["\t".join(line) for line in [[each.title for each in columns], *texts]]
            sys.stdout.write("\n".join(lines) + "\n")
            return
        shown = _that_fit(columns, texts, _width())
        hidden = [column.title for number, column in enumerate(columns) if number not in shown]
        widths = {n: max(_cells(columns[n].title), *(_cells(line[n]) for line in texts)) for n in shown}
        head = "  ".join(_padded(columns[n].title, widths[n], right=columns[n].right) for n in shown).rstrip()
        bold = not os.environ.get("NO_COLOR")
        sys.stdout.write((click.style(head, bold=True) if bold else head) + "\n")
        for line in texts:
            sys.stdout.write("  ".join(_padded(line[n], widths[n], right=columns[n].right) for n in shown).rstrip() + "\n")
        if hidden:
            self.note(f"Too narrow for: {', '.join(hidden)}")

    def facts(self, value: object, facts: Sequence[tuple[str, object]], *, name: str) -> None:
        """Print one thing: JSON, its name, or a line for each fact that is known."""
        if self.is_json:
            self.json(value)
        elif self.form == "name":
            self.line(name)
        else:
            known = [(title, _text(fact)) for title, fact in facts if fact not in (None, "", [])]
            width = max(len(title) for title, _ in known)
            for title, fact in known:
                sys.stdout.write(f"{title:<{width}}  {fact}\n" if sys.stdout.isatty() else f"{title}\t{fact}\n")


def as_json(value: object, *, indent: int = -1) -> str:
    """Return JSON in which nothing steers a terminal: escapes say the same to programs."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=indent).decode()
    return text if text.isascii() and "\x7f" not in text else "".join(map(_escaped, text))


def _escaped(char: str) -> str:
    if char.isprintable() or char == "\n":
        return char
    halves = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{halves[at]:02x}{halves[at + 1]:02x}" for at in range(0, len(halves), 2))


def _that_fit(columns: Sequence[Column[Any]], texts: list[list[str]], width: int) -> list[int]:
    """Return the numbers of the columns, from the left, that fit beside each other."""
    shown: list[int] = []
    used = 0
    for number, column in enumerate(columns):
        used += max(_cells(column.title), *(_cells(line[number]) for line in texts)) + 2
        if used - 2 > width and shown:
            break
        shown.append(number)
    return shown


def _width() -> int:
    import shutil

    return shutil.get_terminal_size((100, 24)).columns


def _text(value: object) -> str:
    if value is None or value is msgspec.UNSET:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if hasattr(value, "strftime"):
        return str(value.astimezone().strftime("%Y-%m-%d %H:%M %Z"))  # type: ignore[attr-defined]  # a datetime
    if isinstance(value, (list, tuple)):
        return ", ".join(_text(each) for each in value)
    return printable(str(value)).replace("\n", " ")


def _cells(text: str) -> int:
    """Return how many columns of a terminal a text takes: ideographs take two."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)


def _padded(text: str, width: int, *, right: bool) -> str:
    space = " " * max(0, width - _cells(text))
    return f"{space}{text}" if right else f"{text}{space}"
