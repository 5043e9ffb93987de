"""JSON encoding for everything that Berth sends to programs."""

import orjson


def to_json(value: object) -> bytes:
    """Encode a value; UTC times end in Z, and decimals, lazy texts and the like become strings."""
    return orjson.dumps(value, default=str, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS)
