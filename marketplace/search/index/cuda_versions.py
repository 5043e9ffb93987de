"""Versions such as "12.4" as numbers that compare part by part (missing parts count as zeros), and GPUs too old for one."""

import re
from functools import cache
from typing import Final

from marketplace.gpu_catalogue.catalogue import MODELS
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


@cache
def gpus_without(cuda: int) -> frozenset[str]:
    """Return the models on which the release of CUDA with this number doesn't run any more, however new the driver is."""
    release = 2 * _BITS  # without the parts after "13.0", which the catalogue leaves out
    return frozenset(
        model.slug for model in MODELS if model.cuda_last and version_number(model.cuda_last) >> release < cuda >> release
    )
