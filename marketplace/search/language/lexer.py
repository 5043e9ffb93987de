"""Lexer of search lines: words, operators, values and lists, each with its position."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _

from marketplace.errors import SearchSyntaxError
from marketplace.search.language.field_names import quoted_input
from marketplace.search.language.fields import Op
from marketplace.search.language.options import LIST_MAX

_STOPS: Final = "\\s=<>!,\\[\\]()\"'"
_WORD: Final = re.compile(f"[^{_STOPS}]+")
_SYMBOL: Final = re.compile("==|!=|<=|>=|=|<|>")
_WORD_OP: Final = re.compile(r"(not\s+in|notin|in)(?=[\s\[(])", re.IGNORECASE)
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'')
_ESCAPED: Final = re.compile(r"\\(.)")
_BRACKETS: Final = {"[": "]", "(": ")"}
_UNQUOTED: Final = re.compile(r"[^\W_][\w.:/+-]*|-?[a-z_]+")


@dataclass(frozen=True)
class Text:
    """A word or a quoted text, and the code point where it begins."""

    text: str
    position: int
    quoted: bool = False


class Scanner:
    """Scanner of one line; every reader leaves `position` behind what it has read."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.position = 0

    def skip(self, others: str = "") -> None:
        """Skip spaces; `others` are further characters to skip."""
        while self.position < len(self.line) and (self.line[self.position].isspace() or self.line[self.position] in others):
            self.position += 1

    @property
    def ended(self) -> bool:
        return self.position >= len(self.line)

    def text(self, what: str) -> Text:
        """Read a word or a quoted text; `what` names in the error what is missing."""
        start = self.position
        if self.line[start : start + 1] in ('"', "'"):
            return self._quoted(start)
        found = _WORD.match(self.line, start)
        if found is None:
            character = quoted_input(self.line[start : start + 1])
            ended = _("The search is incomplete here.")
            detail = ended if self.ended else _("%(character)s isn't allowed here.") % {"character": character}
            hint = _("Enter %(what)s; quote values with spaces or operators.") % {"what": what}
            raise SearchSyntaxError(detail, position=start, hint=hint)
        self.position = found.end()
        return Text(found[0], start)

    def peek_word(self) -> str:
        found = _WORD.match(self.line, self.position)
        return found[0] if found else ""

    def sign(self) -> tuple[Op, int] | None:
        """Read an operator, if one comes next; only then are the spaces before it skipped."""
        start = self.position
        self.skip()
        place = self.position
        if found := _SYMBOL.match(self.line, place):
            self.position = found.end()
            return Op("=" if found[0] == "==" else found[0]), place
        if found := _WORD_OP.match(self.line, place):
            self.position = found.end()
            return (Op.IN if found[0].lower() == "in" else Op.NOT_IN), place
        self.position = start
        return None

    def list(self) -> Sequence[Text]:
        """Read values in brackets, separated by commas."""
        start = self.position
        closing = _BRACKETS.get(self.line[start : start + 1])
        if closing is None:
            raise SearchSyntaxError(_("Expected a list here."), position=start, hint=_("Use brackets: [a, b]."))
        self.position += 1
        found: list[Text] = []
        while True:
            self.skip(",")
            if self.ended:
                raise SearchSyntaxError(_("This list isn't closed."), position=start, hint=_closed_by(closing))
            if self.line[self.position] == closing:
                break
            if len(found) == LIST_MAX:
                hint = _("A list can have at most %(most)s values.") % {"most": LIST_MAX}
                raise SearchSyntaxError(_("This list is too long."), position=self.position, hint=hint)
            found.append(self.text(_("a value")))
        self.position += 1
        if not found:
            hint = _("Enter at least one value: [a, b].")
            raise SearchSyntaxError(_("This list is empty."), position=start, hint=hint)
        return found

    def _quoted(self, start: int) -> Text:
        found = _QUOTED.match(self.line, start)
        if found is None:
            hint = _closed_by(self.line[start])
            raise SearchSyntaxError(_("This quote isn't closed."), position=start, hint=hint)
        self.position = found.end()
        return Text(_ESCAPED.sub(r"\1", found[1] if found[1] is not None else found[2]), start, quoted=True)


def _closed_by(sign: str) -> str:
    return _("Close it with %(sign)s.") % {"sign": sign}


def quoted(text: str) -> str:
    """Return `text` as a Scanner reads it back: unchanged where it is one word, else in quotation marks."""
    if _UNQUOTED.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
