"""Sentences of the market's as data: a code and its parameters are kept, and worded in the reader's language when read.

Each message is one class: its code, its form in English (marked for translation) and, as fields with types, its parameters.

    class StopAt(Message, code="stop_at", text=_("Stops at %(at)s")):
        at: datetime

A missing, surplus or ill-typed parameter is an error of the program and raised where the message is made. Reading raises
nothing: what a later or earlier version has written, or nobody knows, is read as None, and its row's English text is shown.
"""

import enum
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Final, NewType, dataclass_transform, get_origin, get_type_hints

from django.db import models
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from common.messages.host_text import HOST_SAYS, RENTER_SAYS, own_text
from common.printable import cut_printable

Words = str | Promise
Micros = NewType("Micros", int)
"""An amount of money in micro-units of the market's currency."""
Share = NewType("Share", int)
"""A part of a whole in ten-thousandths, such as a discount; shown in percent."""
Second = NewType("Second", datetime)
"""A moment of which the seconds matter; of a plain `datetime` the minute is shown."""
Quoted = NewType("Quoted", str)
"""Words that somebody else wrote, without the mark that says whose they are."""

LONGEST_TEXT: Final = 300
MOST_PARTS: Final = 20
DEEPEST: Final = 3
LARGEST: Final = 8_000
"""Bytes of a message in JSON."""
_LARGEST_INT: Final = 2**53
_FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"

_known: dict[str, "type[Message]"] = {}


class MalformedParameter(ValueError):
    """A value that its message cannot have."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Message:
    """One sentence; a subclass is a form of it."""

    code: ClassVar[str]
    text: ClassVar[Words]
    kinds: ClassVar[Mapping[str, Any]]

    def __init_subclass__(cls, *, code: str, text: Words) -> None:
        if code in _known:
            raise TypeError(f"There are two messages with the code {code!r}.")
        cls.code, cls.text = code, text
        dataclass(frozen=True, kw_only=True)(cls)
        cls.kinds = {name: kind for name, kind in get_type_hints(cls).items() if get_origin(kind) is not ClassVar}
        _known[code] = cls

    def __post_init__(self) -> None:
        for name, kind in self.kinds.items():
            object.__setattr__(self, name, _checked(kind, getattr(self, name), f"{self.code}.{name}"))

    def named(self) -> Mapping[str, Words]:
        """Return further values for the form, which have texts of their own, by the name of their place."""
        return {}


class Name(Message, code="name", text="%(name)s"):
    """What a person has named, a size, an address: the same in every language."""

    name: str


class Change(Message, code="change", text="%(before)s → %(after)s"):
    """From one such name to another."""

    before: str
    after: str


class Parts(Message, code="parts", text="%(parts)s"):
    """Several things, one after the other."""

    parts: tuple[Message, ...]


class About(Message, code="about", text="%(name)s: %(what)s"):
    """What is said of something that has a name."""

    name: str
    what: Message


class English(Message, code="english", text="%(sentence)s"):
    """A sentence that exists in English alone: of an error that comes too seldom to have a form."""

    sentence: str


class HostSays(Message, code="host_says", text=gettext_lazy(HOST_SAYS)):
    words: Quoted


class RenterSays(Message, code="renter_says", text=gettext_lazy(RENTER_SAYS)):
    words: Quoted


def stored(message: Message | None) -> dict[str, Any] | None:
    """As JSON keeps it: {"code": …, "params": {…}}. Raises MalformedParameter for what is too large or nested too deeply."""
    if message is None:
        return None
    found = _dumped(message, DEEPEST)
    if len(json.dumps(found, ensure_ascii=False).encode()) > LARGEST:
        raise MalformedParameter(f"{message.code} has more than {LARGEST} bytes.")
    return found


def read(kept: object) -> Message | None:
    """Return the message that `stored` has made; None for anything else."""
    try:
        return _loaded(kept, DEEPEST)
    except (MalformedParameter, TypeError, ValueError, KeyError, OverflowError):
        return None


def of_row(message: Message | None, text: str) -> Message | None:
    """Return a row's message, or the English text that is all an older row has."""
    return message if message is not None or not text else English(sentence=text)


def host_message(text: str) -> Message | None:
    """Return a host's own words as a message; None where it says nothing."""
    words = own_text(text)
    return HostSays(words=Quoted(words)) if words else None


def every_message() -> Mapping[str, type[Message]]:
    return _known


class MessageField(models.JSONField):
    """A message beside its English text; None in rows that have the text alone."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"null": True, "blank": True, "editable": False, **options})

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        """As plain JSON: a migration reads what it finds, and needs none of today's messages."""
        name, _, args, options = super().deconstruct()
        return name, "django.db.models.JSONField", args, options

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Message | None:
        return read(super().from_db_value(value, expression, connection))

    def get_prep_value(self, value: Any) -> Any:
        return super().get_prep_value(stored(value) if isinstance(value, Message) else value)


# -- parameters: checked when a message is made, written to and read from JSON


def _checked(kind: Any, value: object, where: str) -> object:
    check = _CHECKS.get(kind)
    if check is None and isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind(value)
    if check is None and isinstance(kind, type) and issubclass(kind, Message):
        check = _message
    try:
        return (check or _parts)(value)
    except MalformedParameter as error:
        raise MalformedParameter(f"{where} {error}") from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise MalformedParameter("is no text.")
    return cut_printable(value, LONGEST_TEXT)


def _quoted(value: object) -> str:
    return own_text(_text(value))


def _int(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _LARGEST_INT:
        raise MalformedParameter("is no whole number in range.")
    return int(value)


def _moment(value: object) -> datetime:
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise MalformedParameter("is no time with a zone.")
    return value.astimezone(UTC).replace(microsecond=0)


def _message(value: object) -> Message:
    if not isinstance(value, Message):
        raise MalformedParameter("is no message.")
    return value


def _parts(value: object) -> tuple[Message, ...]:
    if not isinstance(value, tuple) or not 1 <= len(value) <= MOST_PARTS:
        raise MalformedParameter(f"is no tuple of 1 to {MOST_PARTS} messages.")
    return tuple(_message(part) for part in value)


_CHECKS: Final[Mapping[Any, Callable[[object], object]]] = {
    **{str: _text, Quoted: _quoted, int: _int, Micros: _int, Share: _int, datetime: _moment, Second: _moment},
    tuple[Message, ...]: _parts,
}


def _dumped(message: Message, depth: int) -> dict[str, Any]:
    if depth < 1:
        raise MalformedParameter("Messages are nested too deeply.")
    return {
        "code": message.code,
        "params": {name: _json_of(getattr(message, name), depth - 1) for name in message.kinds},
    }


def _json_of(value: object, depth: int) -> Any:
    if isinstance(value, Message):
        return _dumped(value, depth)
    if isinstance(value, tuple):
        return [_dumped(part, depth) for part in value]
    if isinstance(value, enum.Enum):
        return value.value
    return value.strftime(_FORMAT) if isinstance(value, datetime) else value


def _loaded(kept: object, depth: int) -> Message:
    if depth < 1 or not isinstance(kept, dict) or set(kept) != {"code", "params"}:
        raise MalformedParameter("This is no message.")
    form, params = _known[kept["code"]], kept["params"]
    if not isinstance(params, dict) or set(params) != set(form.kinds):
        raise MalformedParameter("These are not its parameters.")
    return form(**{name: _value_of(form.kinds[name], params[name], depth - 1) for name in params})


def _value_of(kind: Any, kept: Any, depth: int) -> Any:
    if kind in (datetime, Second):
        return datetime.strptime(kept, _FORMAT).replace(tzinfo=UTC)
    if kind == tuple[Message, ...]:
        return tuple(_loaded(part, depth) for part in kept)
    if isinstance(kind, type) and issubclass(kind, Message):
        return _loaded(kept, depth)
    return kept
