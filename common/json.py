"""The one JSON form of what Berth says to programs."""

import orjson


def to_json(value: object) -> bytes:
    """UTC times end in Z; decimals, lazy texts and the like become strings."""
    return orjson.dumps(value, default=str, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS)
