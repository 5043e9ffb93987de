"""Cursors of the offer list: a position as an opaque string."""

import base64
import binascii
from dataclasses import dataclass
from uuid import UUID

import orjson

from common.errors import FieldError, InvalidInput

_BIGINT = 2**63
_LENGTH_MAX = 200


@dataclass(frozen=True)
class Cursor:
    """Row next to the page: its sort value and id; with `backwards`, towards the first page."""

    sort: str
    value: int
    key: UUID
    backwards: bool = False

    def encode(self) -> str:
        body = orjson.dumps([self.sort, self.value, self.key.hex, self.backwards])
        return base64.urlsafe_b64encode(body).decode().rstrip("=")


def read_cursor(text: str, *, sort: str) -> Cursor:
    """Return the cursor in `text`.

    Raises:
        InvalidInput: it is not one of ours, or belongs to another sort order.
    """
    try:
        cursor = _decode(text)
    except (ValueError, TypeError, AttributeError, binascii.Error) as error:
        raise _refused("Take the cursor from `next` or `previous` of a page, unchanged.") from error
    if cursor.sort != sort:
        raise _refused(f"This cursor belongs to sort={cursor.sort}; keep the sort order while you page.")
    return cursor


def _decode(text: str) -> Cursor:
    if len(text) > _LENGTH_MAX:
        raise ValueError("too long")
    body = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    sort, value, key, backwards = orjson.loads(body)
    if not (isinstance(sort, str) and type(value) is int and isinstance(backwards, bool) and abs(value) < _BIGINT):
        raise ValueError("mistyped")
    return Cursor(sort, value, UUID(hex=key), backwards)


def _refused(hint: str) -> InvalidInput:
    return InvalidInput("The cursor is not one that this list gave out.", errors=[FieldError("cursor", "invalid", hint)])
