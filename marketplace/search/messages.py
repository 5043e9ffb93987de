"""Texts of searches for readers: names of terms, and conditions and options as labels."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from marketplace.gpu_catalogue.catalogue import by_slug
from marketplace.search.language.fields import TERMS, Condition, Kind, Op, Scalar

Words = str | Promise

TERM_LABELS: Final[Mapping[str, Words]] = {
    "gpu": _("GPU model"),
    "series": _("Series"),
    "architecture": _("Architecture"),
    "vram": _("VRAM"),
    "fp16": "FP16",
    "fp32": "FP32",
    "count": _("Free GPUs"),
    "gpu_total": _("GPUs in the host"),
    "nvlink": "NVLink",
    "region": _("Region"),
    "host": _("Host"),
    "verified": _("Verified"),
    "simulated": _("Simulated"),
    "runtime": _("Runtime"),
    "reliability": _("Reliability"),
    "lease_hours": _("Longest rental"),
    "price": _("Price per GPU-hour"),
    "total": _("Price per hour"),
    "value": _("Value"),
    "cuda": "CUDA",
    "cpu": _("CPU cores per GPU"),
    "ram": _("RAM per GPU"),
    "disk": _("Disk"),
    "disk_free": _("Free disk"),
    "disk_read": _("Disk read"),
    "disk_write": _("Disk write"),
    "net_up": _("Upload"),
    "net_down": _("Download"),
}
MODE_LABELS: Final[Mapping[str, Words]] = {
    "hourly": _("On-demand"),
    "reserved": _("Reserved"),
    "tiered": _("Tiered"),
    "spot": _("Spot"),
}
LENGTH_LABELS: Final[Mapping[str, Words]] = {
    "day": _("1 day"),
    "week": _("1 week"),
    "month": _("1 month"),
    "year": _("1 year"),
    "year3": _("3 years"),
}
DISK_LABELS: Final[Mapping[str, str]] = {"nvme": "NVMe", "ssd": "SSD", "hdd": "HDD"}
_SIGNS: Final = {Op.EQ: "=", Op.NE: "≠", Op.LT: "<", Op.LE: "≤", Op.GT: ">", Op.GE: "≥", Op.IN: ":", Op.NOT_IN: "≠"}
_HOURS_PER_DAY: Final = 24
_PERCENT: Final = 100
_PPM_PER_HUNDREDTH: Final = 100


def condition_text(condition: Condition) -> str:
    """Return a condition as text: "VRAM ≥ 24 GB", "Region: eu-west, Shanghai", "Verified"."""
    term = TERMS[condition.term]
    label = str(TERM_LABELS[term.name])
    if term.kind is Kind.FLAG and not isinstance(condition.value, tuple):
        is_so = (condition.value is True) == (condition.op in (Op.EQ, Op.IN))
        return label if is_so else gettext("Not: %(label)s") % {"label": label}
    values = condition.value if isinstance(condition.value, tuple) else (condition.value,)
    text = ", ".join(value_label(term.name, value) for value in values)
    is_choice = TERMS[condition.term].kind is Kind.CHOICE and condition.op in (Op.IN, Op.EQ)
    return f"{label}: {text}" if is_choice or condition.op is Op.IN else f"{label} {_SIGNS[condition.op]} {text}"


def value_label(term: str, value: Scalar) -> str:
    match term:
        case "gpu":
            return by_slug(str(value)).name
        case "reliability":
            return f"{plain_number(Decimal(str(value)) * _PERCENT)}%"
        case "lease_hours":
            return hours_text(Decimal(str(value)))
        case "disk":
            return DISK_LABELS.get(str(value), str(value))
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    number = value if isinstance(value, str) else plain_number(value)
    return (
        f"{number} {TERMS[term].unit}".strip()
        if TERMS[term].kind is not Kind.MONEY
        else f"{number} {settings.MARKET_CURRENCY}"
    )


def reserved_label(term: str) -> str:
    """Return the reserved mode with its term, as in: Reserved, 1 month."""
    return gettext("%(mode)s, %(term)s") % {"mode": MODE_LABELS["reserved"], "term": LENGTH_LABELS[term]}


def hours_text(hours: Decimal) -> str:
    """Return whole days as days, everything else as hours."""
    days, rest = divmod(hours, _HOURS_PER_DAY)
    if rest or not days:
        return gettext("%(count)s h") % {"count": plain_number(hours)}
    return ngettext("%(count)s day", "%(count)s days", int(days)) % {"count": plain_number(days)}


def plain_number(value: Any) -> str:
    """Return a number without trailing zeros: Decimal("24.0") is "24"."""
    text = f"{Decimal(str(value)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent_text_of_ppm(ppm: int | None) -> str:
    """Return millionths as a percentage, or an empty text for unknown.

    It is rounded down to hundredths, since 99.996 is not 100.
    """
    return "" if ppm is None else f"{plain_number(Decimal(ppm // _PPM_PER_HUNDREDTH) / _PERCENT)}%"
