"""JSON encoding for everything that Berth sends to programs."""

from typing import Any

import orjson


def to_json(value: object) -> bytes:
    """Encode a value; UTC times end in Z, and decimals, lazy texts and the like become strings."""
    return orjson.dumps(value, default=str, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS)


def as_plain(value: object) -> Any:
    """Return a value as programs read it from JSON: dictionaries, lists, texts and numbers."""
    return orjson.loads(to_json(value))
