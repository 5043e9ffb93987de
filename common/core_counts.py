"""Shares of a host's CPU in words."""

from typing import Final

from django.utils.translation import ngettext

_MILLIS: Final = 1000


def core_words(millis: int) -> str:
    """Thousandths of a core as people count cores: "1 core", "7.5 cores"."""
    count = f"{millis / _MILLIS:.1f}".removesuffix(".0")
    return ngettext("%(cores)s core", "%(cores)s cores", 1 if count == "1" else 2) % {"cores": count}
