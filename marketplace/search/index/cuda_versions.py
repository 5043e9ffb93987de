"""Versions such as "12.4" as numbers that compare part by part; missing parts count as zeros."""

import re
from functools import cache
from typing import Final

from marketplace.search.index.binary_layout import UNKNOWN

_VERSION: Final = re.compile(r"\d{1,10}(\.\d{1,10}){0,3}", re.ASCII)
_PARTS: Final = 4
_BITS: Final = 15


@cache
def version_number(text: str) -> int:
    """Return the number of a version, or UNKNOWN for a text that is none."""
    if not _VERSION.fullmatch(text):
        return UNKNOWN
    parts = [min(int(part), 2**_BITS - 1) for part in text.split(".")]
    number = 0
    for part in parts + [0] * (_PARTS - len(parts)):
        number = number << _BITS | part
    return number
