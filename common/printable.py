"""Printable text: what a name may hold, whoever gives it. One list of characters serves Python and PostgreSQL alike."""

import re
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils.translation import gettext_lazy as _

from common.errors import InvalidInput, wrong_field

# In the notation that both regular expressions read: control characters, characters that take no room or are blank without
# being spaces, line and paragraph separators, marks that turn the direction of writing, tags, and what is no character.
_NOT_PRINTABLE: Final = (
    r"\u0001-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\uffff\U000e0000-\U000e007f"
)
# Two that only Python's texts can hold: PostgreSQL has neither NUL nor halves of surrogate pairs.
_FOUND: Final = re.compile(rf"[\u0000\ud800-\udfff{_NOT_PRINTABLE}]")
_REFUSED: Final = _("Use printable characters only: no line breaks, control characters or invisible marks.")


def is_printable(text: str) -> bool:
    """Whether `text` is one line that shows everything it holds."""
    return _FOUND.search(text) is None


def printable(text: str) -> None:
    """Validate a field of a form, a serializer or a model."""
    if not is_printable(text):
        raise ValidationError(_REFUSED, code="not_printable")


def check_printable(field: str, text: str) -> None:
    """Raise InvalidInput that names `field` unless `text` is printable."""
    if not is_printable(text):
        raise _refusal(field)


def made_printable(text: str) -> str:
    """The text with a space for each character that is not printable: for words that are kept, not refused."""
    return _FOUND.sub(" ", text)


def cut_printable(text: str, size: int) -> str:
    """One printable line of at most `size` characters: for words of programs that are not ours."""
    return made_printable(text[:size]).strip()


def printable_log_line(text: str, size: int) -> str:
    """A line of a program's output: indented as it was, without what cannot be printed."""
    return "\t".join(_FOUND.sub("", part) for part in text[:size].split("\t"))


def is_printable_sql(column: str) -> str:
    """The same rule as a condition of PostgreSQL."""
    return f"{column} !~ '[{_NOT_PRINTABLE}]'"


def make_printable_sql(table: str, column: str) -> str:
    """What a migration runs before it puts the rule on a column that has rows."""
    spaced = f"regexp_replace({column}, '[{_NOT_PRINTABLE}]', ' ', 'g')"
    return f"UPDATE {table} SET {column} = {spaced} WHERE NOT ({is_printable_sql(column)})"  # noqa: S608  (names)


class PrintableField(models.CharField):  # type: ignore[type-arg]  # generic in the stubs alone
    """A name: refused on its way to the database by InvalidInput, and in the database by a CHECK of its column."""

    default_validators = [printable]  # noqa: RUF012  (as Django declares it)

    def db_check(self, connection: BaseDatabaseWrapper) -> str:
        return is_printable_sql(connection.ops.quote_name(str(self.column)))

    def get_db_prep_save(self, value: Any, connection: BaseDatabaseWrapper) -> Any:
        if isinstance(value, str):
            check_printable(self.name, value)
        return super().get_db_prep_save(value, connection)


def _refusal(field: str) -> InvalidInput:
    return wrong_field(field, str(_REFUSED))
