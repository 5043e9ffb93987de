"""Formatting of amounts, sizes and times to two or three digits."""

from typing import Final

from django.utils.translation import gettext as _

from marketplace.advisor.memory import GB

_DAY: Final = 24
_LONG: Final = 100  # from here on without decimals
_COUNTS: Final = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))
_PREFIXES: Final = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def format_number(number: float) -> str:
    """Return a number in short form: 6740000000 -> "6.74B"."""
    size, letter = next(((size, letter) for size, letter in _COUNTS if number >= size), (1.0, ""))
    return f"{number / size:.3g}{letter}"


def format_flop(number: float) -> str:
    """Return an amount of operations: 2.7e18 -> "2.7 EFLOP"."""
    size, prefix = next(((size, prefix) for size, prefix in _PREFIXES if number >= size), (1.0, ""))
    return f"{number / size:,.4g} {prefix}FLOP"


def in_gb(size: float) -> str:
    gigabytes = size / GB
    return f"{gigabytes:,.0f} GB" if gigabytes >= _LONG else f"{gigabytes:.3g} GB"


def format_hours(hours: float) -> str:
    """Return an estimated time to two or three digits, in minutes, hours or days."""
    if hours < 1:
        return _("%(count)s min") % {"count": f"{max(hours * 60, 0.1):.2g}"}
    if hours < 2 * _DAY:
        return _("%(count)s h") % {"count": f"{hours:.3g}"}
    days = hours / _DAY
    return _("%(count)s days") % {"count": f"{days:,.0f}" if days >= _LONG else f"{days:.3g}"}
