"""Shares of a host's CPU in words."""

from typing import Final

from django.utils.translation import ngettext

_MILLIS: Final = 1000


def core_count(millis: int) -> str:
    """Format thousandths of a core as a number of cores without needless places: "7.5"."""
    return f"{millis / _MILLIS:.1f}".removesuffix(".0")


def core_count_label(millis: int) -> str:
    """Format thousandths of a core as people count cores: "1 core", "7.5 cores"."""
    count = core_count(millis)
    return ngettext("%(cores)s core", "%(cores)s cores", 1 if count == "1" else 2) % {"cores": count}
