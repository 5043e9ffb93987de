"""Values of terms, read with their units and written so that they read the same."""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from django.utils.translation import gettext as _

from marketplace.search.language import field_names
from marketplace.search.language.field_names import quoted_input
from marketplace.search.language.fields import Kind, Scalar, Term

_NUMBER: Final = re.compile(r"(\d{1,9}(?:\.\d{1,6})?|\.\d{1,6}) ?([A-Za-z/%]{0,10})", re.ASCII)
_VERSION: Final = re.compile(r"\d{1,4}(?:\.\d{1,4}){0,2}", re.ASCII)
_SLUG: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,58}[a-z0-9])?")
_HOST: Final = re.compile(r"host_[0-9a-f]{32}")
_REGION_CHARS: Final = 40
_FINEST: Final = -6  # exponent of the last decimal place
_TRUE: Final = frozenset({"true", "yes", "1", "on"})
_FALSE: Final = frozenset({"false", "no", "0", "off"})

_ONE: Final = Decimal(1)
_MEMORY: Final = {"g": _ONE, "gb": _ONE, "gib": _ONE, "t": Decimal(1024), "tb": Decimal(1024), "tib": Decimal(1024)}
_DISK: Final = {"g": _ONE, "gb": _ONE, "t": Decimal(1000), "tb": Decimal(1000)}
_RATE: Final = {"tflops": _ONE, "tf": _ONE, "pflops": Decimal(1000), "pf": Decimal(1000)}
_HOURLY: Final = {"/h": _ONE, "/hr": _ONE, "/hour": _ONE}
_DISK_SPEED: Final = {"mb/s": _ONE, "mb": _ONE, "gb/s": Decimal(1000), "gb": Decimal(1000)}
_NET_SPEED: Final = {"mbit/s": _ONE, "mbit": _ONE, "mbps": _ONE} | dict.fromkeys(("gbit/s", "gbit", "gbps"), Decimal(1000))
_HOURS: Final = dict.fromkeys(("h", "hour", "hours"), _ONE) | {
    name: Decimal(hours)
    for hours, spellings in {24: ("d", "day", "days"), 168: ("w", "week", "weeks"), 8760: ("y", "year", "years")}.items()
    for name in spellings
}
# Units that may follow a number of each term, and their factors.
UNITS: Final[Mapping[str, Mapping[str, Decimal]]] = {
    "vram": _MEMORY,
    "ram": _MEMORY,
    "fp16": _RATE,
    "fp32": _RATE,
    "count": {"gpu": _ONE, "gpus": _ONE},
    "gpu_total": {"gpu": _ONE, "gpus": _ONE},
    "reliability": {"%": Decimal("0.01")},
    "lease_hours": _HOURS,
    "price": _HOURLY,
    "total": _HOURLY,
    "cpu": {"core": _ONE, "cores": _ONE},
    "disk_free": _DISK,
    "data_disk": _DISK,
    "disk_read": _DISK_SPEED,
    "disk_write": _DISK_SPEED,
    "net_up": _NET_SPEED,
    "net_down": _NET_SPEED,
}


class BadValue(Exception):
    """Raised for a value that its term cannot have; the caller knows its position."""

    def __init__(self, detail: str, *, hint: str, choices: Sequence[str] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.hint = hint
        self.choices = tuple(choices)


def read_value(term: Term, text: str) -> Scalar:
    """Return the value that `text` means for `term`.

    Raises:
        BadValue: it means none.
    """
    text = text.strip()
    match term.kind:
        case Kind.NUMBER | Kind.MONEY:
            return _share(read_number(term.name, text)) if term.name == "reliability" else read_number(term.name, text)
        case Kind.VERSION:
            return _version(text)
        case Kind.FLAG:
            return read_flag(text)
        case Kind.CHOICE:
            return _CHOICES[term.name](text)


def read_number(name: str, text: str) -> Decimal:
    """Return a number in the unit of `name`, converted from the unit written after it.

    Raises:
        BadValue: it is not a number, or the unit is not allowed.
    """
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise BadValue(_("%(text)s isn't a number.") % {"text": quoted_input(text)}, hint=_number_hint(name))
    units = UNITS.get(name, {})
    factor = units.get(found[2].lower()) if found[2] else _ONE
    if factor is None:
        detail = _("%(name)s has no unit %(unit)s.") % {"name": name, "unit": quoted_input(found[2])}
        raise BadValue(detail, hint=_number_hint(name), choices=list(units))
    value = (Decimal(found[1]) * factor).normalize()
    if int(value.as_tuple().exponent) < _FINEST or value >= 10**12:
        detail = _("%(text)s is too large or has too many decimals.") % {"text": quoted_input(text)}
        raise BadValue(detail, hint=_("Use at most nine digits and six decimals."))
    return value


def read_flag(text: str) -> bool:
    lower = text.lower()
    if lower in _TRUE or lower in _FALSE:
        return lower in _TRUE
    detail = _("%(text)s isn't true or false.") % {"text": quoted_input(text)}
    raise BadValue(detail, hint=_("Enter true or false."), choices=["true", "false"])


def read_choice(text: str, choices: Sequence[str]) -> str:
    """Return one of a closed list of choices, ignoring case and punctuation.

    Raises:
        BadValue: it is none of them.
    """
    found = field_names.choice_like(text, choices)
    if found is None:
        detail = _("%(text)s isn't one of the choices.") % {"text": quoted_input(text)}
        raise BadValue(detail, hint=field_names.did_you_mean(text, choices), choices=choices)
    return found


def write_value(value: Scalar) -> str:
    """Return the text that `read_value` reads as `value`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value.normalize():f}" if isinstance(value, Decimal) else str(value)


def known_choices(name: str) -> Sequence[str]:
    """Return the choices of a closed term; none where the market decides them."""
    listed = {"series": field_names.series, "architecture": field_names.architectures}.get(name)
    return listed() if listed else {"runtime": field_names.RUNTIMES, "disk": field_names.DISK_KINDS}.get(name, ())


def _number_hint(name: str) -> str:
    units = ", ".join(UNITS.get(name, ()))
    bare = _("Enter a number of 0 or more, such as 1.5.")
    return _("Enter a number of 0 or more, optionally with a unit: %(units)s.") % {"units": units} if units else bare


def _share(value: Decimal) -> Decimal:
    if value > 1:
        raise BadValue(_("Reliability is a number from 0 to 1."), hint=_("Enter a number up to 1, such as 0.99."))
    return value


def _version(text: str) -> str:
    if not _VERSION.fullmatch(text):
        raise BadValue(
            _("%(text)s isn't a version.") % {"text": quoted_input(text)}, hint=_("Enter a version, such as 12.4.")
        )
    return ".".join(str(int(part)) for part in text.split("."))


def _gpu(text: str) -> str:
    """Return the slug in a text, or of the one model that it names.

    A slug that the catalogue does not know may still be that of a host.
    """
    if text in field_names.slugs():
        return text
    guesses = field_names.guess_gpus(text)
    if len(guesses) == 1:
        return guesses[0]
    if guesses:
        raise several_models(text, guesses)
    slug = text.lower().replace(" ", "-")
    if not _SLUG.fullmatch(slug):
        detail = _("%(text)s isn't a GPU model slug.") % {"text": quoted_input(text)}
        raise BadValue(detail, hint=field_names.did_you_mean(slug, field_names.slugs()), choices=field_names.slugs())
    return slug


def several_models(text: str, guesses: Sequence[str]) -> BadValue:
    """Return the error about a name that matches more than one GPU model."""
    detail = _("%(text)s matches several GPU models.") % {"text": quoted_input(text)}
    return BadValue(detail, hint=_("Use gpu in [%(models)s].") % {"models": ",".join(guesses[:3])}, choices=guesses)


def _host(text: str) -> str:
    if not _HOST.fullmatch(text):
        detail = _("%(text)s isn't a host ID.") % {"text": quoted_input(text)}
        raise BadValue(detail, hint=_("Enter host_ and 32 hexadecimal digits."))
    return text


def _region(text: str) -> str:
    if not (text and text.isprintable() and len(text) <= _REGION_CHARS):
        hint = _("Enter 1 to %(most)s characters, such as eu-west.") % {"most": _REGION_CHARS}
        raise BadValue(_("This isn't a valid region name."), hint=hint)
    return text


def _closed(name: str) -> Callable[[str], str]:
    return lambda text: read_choice(text, known_choices(name))


_CHOICES: Final[Mapping[str, Callable[[str], str]]] = {
    "gpu": _gpu,
    "host": _host,
    "region": _region,
    **{name: _closed(name) for name in ("series", "architecture", "runtime", "disk")},
}
