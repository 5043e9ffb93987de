"""Printable text: the characters that a name may contain, from one list for Python and PostgreSQL."""

import re
import unicodedata
from typing import TYPE_CHECKING, Any, Final

from django.core.exceptions import ValidationError
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.expressions import Combinable
from django.utils.translation import gettext_lazy as _

from common.errors import InvalidInput, wrong_field

# In a notation that both regular expressions read: control characters, characters that take no room or are blank
# without being spaces, line and paragraph separators, marks that change the direction of writing, tags, and
# noncharacters.
_NOT_PRINTABLE: Final = (
    r"\u0001-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\uffff\U000e0000-\U000e007f"
)
# Two that only Python's texts can contain: PostgreSQL has neither NUL nor halves of surrogate pairs.
_FOUND: Final = re.compile(rf"[\u0000\ud800-\udfff{_NOT_PRINTABLE}]")
# Characters that are invisible on their own: spaces, combining marks, variation selectors.
_BLANK: Final = re.compile(r"[\s\u0300-\u036f\u20d0-\u20f0\ufe00-\ufe0f\ufe20-\ufe2f\U000e0100-\U000e01ef]*")
_REFUSED: Final = _("Use printable characters only, without line breaks or invisible characters.")


def is_printable(text: str) -> bool:
    """Return whether `text` is one line without invisible characters."""
    return _FOUND.search(text) is None


def validate_printable(text: str) -> None:
    """Validate a field of a form, serializer or model."""
    if not is_printable(text):
        raise ValidationError(_REFUSED, code="not_printable")


def normalize_text(text: str) -> str:
    """Return the text in NFC: two names that look alike are then the same text."""
    return unicodedata.normalize("NFC", text)


def validate_name(text: str) -> None:
    """Validate a name: printable, and not blank."""
    validate_printable(text)
    if _BLANK.fullmatch(text):
        raise ValidationError(_("Use visible characters."), code="blank")


def check_printable(field: str, text: str) -> None:
    """Refuse a text that is not printable.

    Raises:
        InvalidInput: the text is not printable; the error names `field`.
    """
    if not is_printable(text):
        raise _refusal(field)


def replace_unprintable(text: str) -> str:
    """Replace each unprintable character by a space, for texts that are stored rather than refused."""
    return _FOUND.sub(" ", text)


def cut_printable(text: str, size: int) -> str:
    """Return one printable line of at most `size` characters, for output of other programs."""
    return normalize_text(replace_unprintable(text[:size]).strip())[:size]


def printable_log_line(text: str, size: int) -> str:
    """Return a line of a program's output with its indentation, without unprintable characters."""
    return "\t".join(_FOUND.sub("", part) for part in text[:size].split("\t"))


def is_printable_sql(column: str) -> str:
    """Return the same rule as a condition of PostgreSQL."""
    return f"{column} !~ '[{_NOT_PRINTABLE}]'"


def make_printable_sql(table: str, column: str) -> str:
    """Return SQL for a migration to run before it adds the rule to a column with rows."""
    spaced = f"regexp_replace({column}, '[{_NOT_PRINTABLE}]', ' ', 'g')"
    return f"UPDATE {table} SET {column} = {spaced} WHERE NOT ({is_printable_sql(column)})"  # noqa: S608  (names)


if TYPE_CHECKING:
    _Text = models.CharField[str | Combinable, str]  # generic only in the stubs
else:
    _Text = models.CharField


class PrintableField(_Text):
    """Model field of a name; an unprintable value is refused with InvalidInput before it is saved.

    Its table has a `Printable` constraint as well.
    """

    default_validators = [validate_printable]  # noqa: RUF012  (as Django declares it)

    def get_db_prep_save(self, value: Any, connection: BaseDatabaseWrapper) -> Any:
        if isinstance(value, str):
            check_printable(self.name, value)
        return super().get_db_prep_save(value, connection)


class Printable(models.CheckConstraint):
    """Constraint with the same rule in PostgreSQL for one column.

    A migration adds it after `make_printable_sql`.
    """

    def __init__(self, *, column: str, name: str) -> None:
        self.column = column
        super().__init__(condition=~models.Q((f"{column}__regex", f"[{_NOT_PRINTABLE}]")), name=name)

    def deconstruct(self) -> tuple[str, tuple[()], dict[str, str]]:
        return f"{__name__}.Printable", (), {"column": self.column, "name": str(self.name)}


def _refusal(field: str) -> InvalidInput:
    return wrong_field(field, str(_REFUSED))
