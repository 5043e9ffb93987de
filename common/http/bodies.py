"""Limits of request bodies: storable text, and numbers and nesting that every program can read."""

import json
import math
import re
from typing import IO, Any, Final

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from common.errors import InvalidInput, wrong_field

MOST_NESTED: Final = 32
_LARGEST: Final = 2**63
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_ESCAPED_BYTE: Final = re.compile("[\udc80-\udcff]")
_NAMED_CHARS: Final = 80
_NO_TEXT: Final = "Send text without NUL (U+0000) and without halves of surrogate pairs (U+D800 to U+DFFF)."


def is_storable(text: str) -> bool:
    """Return whether PostgreSQL can store the text and UTF-8 can encode it."""
    return _UNSTORABLE.search(text) is None


def escape_unstorable(text: str) -> str:
    """Return a text for responses, with each character that a response cannot contain as its escape."""
    return _UNSTORABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def unstorable(field: str) -> InvalidInput:
    return wrong_field(field, _NO_TEXT)


class JsonBody(BaseParser):
    """REST framework parser of JSON bodies; it refuses values that no field of any endpoint could take."""

    media_type = "application/json"
    paths: frozenset[str] = frozenset()

    def parse(self, stream: IO[Any], media_type: str | None = None, parser_context: Any = None) -> Any:
        return parse_json_body(stream.read(), self.paths)


class JsonWithPath(JsonBody):
    """Parser for bodies whose `path` names a file.

    Bytes that are not UTF-8 use Python's `surrogateescape`.
    """

    paths = frozenset({"path"})


def parse_json_body(body: bytes, paths: frozenset[str]) -> Any:
    """Parse a JSON body.

    Raises:
        ParseError: it is not JSON.
        InvalidInput: a value is not acceptable; the error names its field.
    """
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_no_number)
    except RecursionError:
        raise _too_deep("") from None
    except ValueError as error:  # includes bytes that are not UTF-8, and whole numbers of thousands of digits
        raise ParseError(f"JSON parse error - {error}") from error
    if isinstance(value, dict):
        _check("", {name: _unescaped(item) if name in paths else item for name, item in value.items()}, 0)
    else:
        _check("", value, 0)
    return value


def _unescaped(path: Any) -> Any:
    """Return the path as it is validated: without escaped bytes."""
    return _ESCAPED_BYTE.sub("", path) if isinstance(path, str) else path


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number in JSON")


def _check(path: str, value: Any, depth: int) -> None:
    if isinstance(value, str):
        if not is_storable(value):
            raise unstorable(path)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise wrong_field(path, "Send a number of at most 64 bits.")
    elif isinstance(value, int):
        if not -_LARGEST <= value < _LARGEST:
            raise wrong_field(path, "Send a whole number of at most 64 bits.")
    elif isinstance(value, dict | list):
        _check_items(path, value, depth + 1)


def _check_items(path: str, value: dict[str, Any] | list[Any], depth: int) -> None:
    if depth > MOST_NESTED:
        raise _too_deep(path)
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        name = str(key)[:_NAMED_CHARS]
        inner = f"{path}.{name}" if path else name
        if isinstance(key, str) and not is_storable(key):
            raise unstorable(inner)
        _check(inner, item, depth)


def _too_deep(path: str) -> InvalidInput:
    return wrong_field(path.partition(".")[0], f"Nest objects and lists at most {MOST_NESTED} deep.")
