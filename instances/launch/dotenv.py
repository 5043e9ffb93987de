"""Reader of the lines of a .env file."""

import re
from typing import Final

from django.utils.translation import gettext as _

from common.errors import FieldError, InvalidInput

_LINE: Final = re.compile(r"(?:export\s+)?([^\s=]+)\s*=\s*(.*)", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "$": "$"}
_ESCAPED: Final = re.compile(r"\\(.)")


def parse_dotenv(text: str) -> dict[str, str]:
    """Return the variables of a .env file, or raise InvalidInput that names the wrong line but not what is in it.

    Blank lines and lines that begin with # are skipped. A value in single quotes is taken as it is, in one of double
    quotes the escape of a line break and the like are replaced; nothing is expanded.
    """
    found: dict[str, str] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            detail = _("Line %(number)s isn't NAME=value.") % {"number": number}
            raise InvalidInput(detail, errors=[FieldError("dotenv", "invalid", detail)])
        found[match[1]] = _value(match[2].strip())
    return found


def _value(text: str) -> str:
    quote = text[:1]
    if len(text) > 1 and quote in ("'", '"') and text.endswith(quote):
        inner = text[1:-1]
        return inner if quote == "'" else _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[0]), inner)
    return text.partition(" #")[0].rstrip()
