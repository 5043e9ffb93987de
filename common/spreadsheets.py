"""CSV for spreadsheets: UTF-8, streamed, and without formulas in texts that people have typed."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

_BOM: Final = "\ufeff"  # tells Excel that the file is UTF-8
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


class _Echo:
    """File object that returns each written line in place of storing it."""

    def write(self, line: str) -> str:
        return line


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the header, then each row as soon as it is available."""
    writer = csv.writer(_Echo())
    yield _BOM + writer.writerow(columns)
    for row in rows:
        yield writer.writerow(row)


def escape_formula(text: str) -> str:
    """Return the text, with a leading apostrophe where a spreadsheet would read it as a formula."""
    return f"'{text}" if begins_like_formula(text) else text


def begins_like_formula(text: str) -> bool:
    """Return whether a spreadsheet would evaluate the text as a formula."""
    return text.startswith(_FORMULA)
