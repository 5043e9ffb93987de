"""The words that a page shows or says: visible text, labels, hints and options, without code and what people have named."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Final

_SAID: Final = ("aria-label", "aria-description", "title", "placeholder", "alt", "data-head", "data-confirm", "data-empty")
_SILENT: Final = frozenset({"script", "style", "code", "pre", "kbd", "samp", "bdi", "svg", "textarea"})
_VOID: Final = frozenset(
    {"input", "br", "img", "hr", "meta", "link", "source", "col", "wbr", "area", "base", "track", "embed"}
)
_BLOCKS: Final = frozenset({"span", "a", "strong", "b", "em", "i", "small", "time", "abbr", "u"})
_CODE: Final = re.compile(r"\S*[_@/=<>\[\]0-9]\S*|\S+:\S+")
"""Addresses, ids, figures with their units, conditions of a search."""
_RUN: Final = re.compile(r"[A-Za-z][A-Za-z'’-]+(?:,? [A-Za-z][A-Za-z'’-]+)+")


class _Words(HTMLParser):
    """Collects texts; what stands in line with others is one text with them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._line: list[str] = []
        self._silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.found += [text for name in _SAID if (text := named.get(name))]
        if tag == "input" and named.get("type") in ("submit", "button", "reset"):
            self.found.append(named.get("value") or "")
        if tag == "meta" and named.get("name") == "description":
            self.found.append(named.get("content") or "")
        if self._silent and tag == self._silent[0]:
            self._silent.append(tag)
        icon = "material-symbols" in (named.get("class") or "")
        if not self._silent and (tag in _SILENT or icon or named.get("translate") == "no"):
            self._silent.append(tag)
            self._line.append(" … ")
        if tag not in _BLOCKS:
            self._end()

    def handle_endtag(self, tag: str) -> None:
        if self._silent and tag == self._silent[-1]:
            self._silent.pop()
        if tag not in _BLOCKS and tag not in _SILENT:
            self._end()

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self._line.append(data)

    def _end(self) -> None:
        self.found.append(" ".join("".join(self._line).split()))
        self._line = []


def words_of(page: str) -> list[str]:
    words = _Words()
    words.feed(page)
    words.close()
    return [text for text in words.found if text]


def english_in(text: str, allowed: re.Pattern[str]) -> Iterator[str]:
    """Yield every run of two English words or more that is not allowed."""
    yield from _RUN.findall(_CODE.sub(" · ", allowed.sub(" · ", text)))
