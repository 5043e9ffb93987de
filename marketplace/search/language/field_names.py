"""Names that people write for GPUs and other choices, and suggestions for wrong ones."""

import difflib
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Final

from django.utils.translation import gettext as _

from marketplace.gpu_catalogue.catalogue import MODELS, recognise_model

_COMPARED_CHARS: Final = 40  # difflib is quadratic, and a longer word resembles none of ours anyway
_OTHERS_SHOWN: Final = 12
_NAME_CHARS: Final = 80  # recognised names are cached: nobody may fill the memory with them

RUNTIMES: Final = ("docker", "simulated")
DISK_KINDS: Final = ("nvme", "ssd", "hdd")


def slugged(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def nearest(word: str, choices: Collection[str]) -> str | None:
    """Return the choice that `word` was most likely meant to be."""
    close = difflib.get_close_matches(word[:_COMPARED_CHARS].lower(), choices, n=1, cutoff=0.6)
    return close[0] if close else None


def did_you_mean(word: str, choices: Collection[str]) -> str:
    """Return a hint for a wrong word: the nearest choice, or all of them where they are few."""
    if close := nearest(word, choices):
        return _("Did you mean %(choice)s?") % {"choice": close}
    listed = ", ".join(list(choices)[:_OTHERS_SHOWN])
    return _("Choices: %(choices)s.") % {"choices": f"{listed}, …" if len(choices) > _OTHERS_SHOWN else listed}


def quoted_input(text: str) -> str:
    """Return the input in quotation marks, cut to a limited length."""
    return repr(text if len(text) <= _COMPARED_CHARS else f"{text[: _COMPARED_CHARS - 1]}…")


@cache
def slugs() -> tuple[str, ...]:
    return tuple(sorted(model.slug for model in MODELS))


@cache
def series() -> tuple[str, ...]:
    return tuple(sorted({model.series for model in MODELS}))


@cache
def architectures() -> tuple[str, ...]:
    return tuple(sorted({model.architecture for model in MODELS}))


def choice_like(text: str, choices: Sequence[str]) -> str | None:
    """Return the choice that differs from `text` only in case and punctuation."""
    wanted = slugged(text)
    return next((choice for choice in choices if slugged(choice) == wanted), None)


def guess_gpus(text: str) -> list[str]:
    """Return slugs of the models that `text` may mean.

    One for "4090", "rtx3090" or a driver's name, two for "h100", or none.
    """
    wanted = slugged(text).replace("-", "")
    tails, heads = _parts()
    if alike := tails.get(wanted) or heads.get(wanted):
        return alike
    if len(text) > _NAME_CHARS:
        return []
    model = recognise_model(text)
    return [model.slug] if model.known else []


@cache
def _parts() -> tuple[Mapping[str, list[str]], Mapping[str, list[str]]]:
    """Return slugs by the whole words that they end and begin with, without dashes.

    "3090" ends rtx-3090, not rtx-3090-ti.
    """
    tails, heads = defaultdict(list), defaultdict(list)
    for slug in slugs():
        words = slug.split("-")
        for place in range(len(words)):
            tails["".join(words[place:])].append(slug)
            heads["".join(words[: place + 1])].append(slug)
    return tails, heads
