"""Conversion of message dataclasses to and from JSON.

Fields that are unknown here (sent by a newer peer) are ignored; missing or mistyped fields are refused.
"""

import contextlib
import json
import math
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, asdict, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

M = TypeVar("M")

_LARGEST = 2**53  # beyond it, JSON readers do not agree on whole numbers
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")  # neither UTF-8 nor a text column can hold these
_SHOWN_CHARS = 60
_MOST_DIGITS = 1_000


class MalformedMessage(Exception):
    """Bytes that are not a message of the expected kind; the text names the field at fault."""


NO_STAND_IN: typing.Final = object()


@dataclass(frozen=True)
class Rule:
    """Validation rule for one field of a message.

    `read` returns the value to keep, or raises ValueError with what was expected. A refused value is replaced by
    `instead`, or without it by the field's default. Where the field has no default either, or is `vital`, the part
    of the message that holds the field is left out. With `each`, the field is a list: at most `each` items are
    read, and `read` validates them one by one.
    """

    read: Callable[[Any], Any]
    instead: Any = NO_STAND_IN
    each: int = 0
    vital: bool = False


Rules = Mapping[type, Mapping[str, Rule]]


def encode(message: Any) -> bytes:
    return json.dumps(asdict(message), separators=(",", ":"), ensure_ascii=False).encode()


def decode(kind: type[M], body: bytes) -> M:
    """Decode a message and refuse it as a whole if any field is wrong.

    Raises:
        MalformedMessage: The body is not JSON, or a field is missing or of the wrong type.
    """
    return typing.cast(M, _Reader()(kind, _json(body), kind.__name__))


def decode_by_rules(kind: type[M], body: bytes, rules: Rules) -> tuple[M, list[str]]:
    """Decode a message as far as the rules allow, and return one line for each part that was refused.

    A bad value costs the smallest part that the message can do without: a field that has a default or an `instead`,
    an item of a list, or an optional part.

    Raises:
        MalformedMessage: The bad value costs the whole message.
    """
    reader = _Reader(rules)
    return typing.cast(M, reader(kind, _json(body), kind.__name__)), reader.refused


def _json(body: bytes) -> Any:
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(body)
    try:
        return json.loads(body, parse_int=_whole)  # a number with more digits than Python parses costs only its field
    except (ValueError, RecursionError) as error:
        raise MalformedMessage("The body is not JSON.") from error


def _whole(digits: str) -> float:
    return int(digits) if len(digits) < _MOST_DIGITS else math.inf


def parse_json_object(text: str) -> dict[str, Any]:
    """Return the JSON object in `text`, or an empty one if the text is anything else.

    It is for control messages, which are plain JSON objects and no message dataclass.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@cache
def _typed_fields(kind: Any) -> tuple[tuple[Field[Any], Any], ...]:
    hints = typing.get_type_hints(kind)
    return tuple((item, hints[item.name]) for item in fields(kind))


class _Reader:
    """Reads one message: strictly without rules, else by rules that say what may be left out."""

    def __init__(self, rules: Rules | None = None) -> None:
        self._rules = rules
        self.refused: list[str] = []

    def __call__(self, kind: Any, value: Any, where: str) -> Any:
        if is_dataclass(kind):
            return self._message(kind, value, where)
        origin = typing.get_origin(kind)
        if origin is None:
            return _scalar(kind, value, where)
        return self._generic(origin, typing.get_args(kind), value, where)

    def _message(self, kind: Any, value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            raise MalformedMessage(f"{where} must be an object.")
        rules: Mapping[str, Rule] = {} if self._rules is None else self._rules[kind]
        found = {}
        for item, hint in _typed_fields(kind):
            if item.name in value:
                rule = rules.get(item.name)
                read = self._field(item, hint, rule, value[item.name], f"{where}.{item.name}")
                if read is not MISSING:
                    found[item.name] = read
            elif not _has_default(item):
                raise MalformedMessage(f"{where}.{item.name} is missing.")
        return kind(**found)

    def _field(self, item: Field[Any], hint: Any, rule: Rule | None, value: Any, where: str) -> Any:
        """Return the field's value or its `instead`; MISSING where the field's default applies."""
        try:
            read = self(hint, value, where)
            return read if rule is None else self._by_rule(rule, read, where)
        except MalformedMessage as error:
            if rule is None or rule.vital or (rule.instead is NO_STAND_IN and not _has_default(item)):
                raise
            self.refused.append(str(error))
            return MISSING if rule.instead is NO_STAND_IN else rule.instead

    def _by_rule(self, rule: Rule, value: Any, where: str) -> Any:
        if not rule.each:
            return _validate(rule, value, where)
        kept = []
        for place, item in enumerate(value[: rule.each]):
            try:
                kept.append(_validate(rule, item, f"{where}[{place}]"))
            except MalformedMessage as error:
                self.refused.append(str(error))
        return kept

    def _generic(self, origin: Any, args: tuple[Any, ...], value: Any, where: str) -> Any:
        if origin is typing.Literal:
            if value not in args:
                raise MalformedMessage(f"{where} must be one of {', '.join(map(str, args))}.")
            return value
        if origin in (types.UnionType, typing.Union):
            inner = next(arg for arg in args if arg is not type(None))
            return None if value is None else self._optional(inner, value, where)
        if origin is dict:
            return self._mapping(args[1], value, where)
        if not isinstance(value, list):
            raise MalformedMessage(f"{where} must be a list.")
        if origin is list:
            return list(self._items(args[0], value, where))
        if len(value) != len(args):  # a tuple has one type for each position
            raise MalformedMessage(f"{where} must have {len(args)} items.")
        return origin(self(kind, item, f"{where}[{n}]") for n, (kind, item) in enumerate(zip(args, value, strict=True)))

    def _optional(self, kind: Any, value: Any, where: str) -> Any:
        try:
            return self(kind, value, where)
        except MalformedMessage as error:
            if self._rules is None:
                raise
            self.refused.append(str(error))
            return None

    def _items(self, kind: Any, values: list[Any], where: str) -> typing.Iterator[Any]:
        for place, value in enumerate(values):
            try:
                yield self(kind, value, f"{where}[{place}]")
            except MalformedMessage as error:
                if self._rules is None:
                    raise
                self.refused.append(str(error))

    def _mapping(self, kind: Any, value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise MalformedMessage(f"{where} must be an object.")
        return {key: self(kind, item, f"{where}.{ascii(key)[1:-1][:_SHOWN_CHARS]}") for key, item in value.items()}


def _has_default(item: Field[Any]) -> bool:
    return item.default is not MISSING or item.default_factory is not MISSING


def _validate(rule: Rule, value: Any, where: str) -> Any:
    try:
        return rule.read(value)
    except ValueError as error:
        raise MalformedMessage(f"{where} must be {error}; it is {ascii(value)[:_SHOWN_CHARS]}.") from error


def _scalar(kind: Any, value: Any, where: str) -> Any:
    if type(value) in (int, float) and not -_LARGEST <= value <= _LARGEST:  # this refuses NaN too
        raise MalformedMessage(f"{where} must be a finite number of at most 53 bits.")
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise MalformedMessage(f"{where} must be of type {getattr(kind, '__name__', kind)}.")
    if kind is str and _NO_TEXT.search(value):
        raise MalformedMessage(f"{where} must not hold NUL or half a character.")
    return value
