"""Messages to JSON and back. Unknown fields are ignored (a newer peer), missing or mistyped ones are refused."""

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

_LARGEST = 2**53  # beyond it, whole numbers are not the same in every reader of JSON
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")  # what neither UTF-8 nor a database column can hold
_SHOWN_CHARS = 60
_MOST_DIGITS = 1_000


class MalformedMessage(Exception):
    """The bytes are not a message of the expected kind; the text names the field."""


NO_STAND_IN: typing.Final = object()


@dataclass(frozen=True)
class Rule:
    """What one field may say. `read` gives the value as it is taken, or raises ValueError with what was asked for.

    `instead` stands in for a value that is refused; without it the field's default does. Where there is none either, or the
    field is `vital`, the part that holds it is left out. With `each` the field is a list, of which `read` judges at most so
    many items, one by one.
    """

    read: Callable[[Any], Any]
    instead: Any = NO_STAND_IN
    each: int = 0
    vital: bool = False


Rules = Mapping[type, Mapping[str, Rule]]


def encode(message: Any) -> bytes:
    return json.dumps(asdict(message), separators=(",", ":"), ensure_ascii=False).encode()


def decode(kind: type[M], body: bytes) -> M:
    """The message, whole. Raises MalformedMessage."""
    return typing.cast(M, _Reader()(kind, _json(body), kind.__name__))


def decode_by_rules(kind: type[M], body: bytes, rules: Rules) -> tuple[M, list[str]]:
    """The message as far as the rules take it, and a line for each part that they do not.

    A bad value costs the smallest part that the message can do without: a field with something to stand in for it, an item
    of a list, an optional part. Raises MalformedMessage where that is the message itself.
    """
    reader = _Reader(rules)
    return typing.cast(M, reader(kind, _json(body), kind.__name__)), reader.refused


def _json(body: bytes) -> Any:
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(body)
    try:
        return json.loads(body, parse_int=_whole)  # a number with more digits than Python reads is one bad number
    except (ValueError, RecursionError) as error:
        raise MalformedMessage("The body is not JSON.") from error


def _whole(digits: str) -> float:
    return int(digits) if len(digits) < _MOST_DIGITS else math.inf


def words_of(text: str) -> dict[str, Any]:
    """What a piece of text says that is no message: a JSON object; empty for what is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@cache
def _shape(kind: Any) -> tuple[tuple[Field[Any], Any], ...]:
    hints = typing.get_type_hints(kind)
    return tuple((item, hints[item.name]) for item in fields(kind))


class _Reader:
    """Reads one message: strictly, or by rules that say what may be left out."""

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
        for item, hint in _shape(kind):
            if item.name in value:
                rule = rules.get(item.name)
                read = self._field(item, hint, rule, value[item.name], f"{where}.{item.name}")
                if read is not MISSING:
                    found[item.name] = read
            elif not _has_default(item):
                raise MalformedMessage(f"{where}.{item.name} is missing.")
        return kind(**found)

    def _field(self, item: Field[Any], hint: Any, rule: Rule | None, value: Any, where: str) -> Any:
        """Its value, or what stands in for it; MISSING where the default does."""
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
            return _judged(rule, value, where)
        kept = []
        for place, item in enumerate(value[: rule.each]):
            try:
                kept.append(_judged(rule, item, f"{where}[{place}]"))
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
        if len(value) != len(args):  # a tuple has a kind for each place
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


def _judged(rule: Rule, value: Any, where: str) -> Any:
    try:
        return rule.read(value)
    except ValueError as error:
        raise MalformedMessage(f"{where} must be {error}; it is {ascii(value)[:_SHOWN_CHARS]}.") from error


def _scalar(kind: Any, value: Any, where: str) -> Any:
    if type(value) in (int, float) and not -_LARGEST <= value <= _LARGEST:  # nor is NaN
        raise MalformedMessage(f"{where} must be a finite number of at most 53 bits.")
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise MalformedMessage(f"{where} must be of type {getattr(kind, '__name__', kind)}.")
    if kind is str and _NO_TEXT.search(value):
        raise MalformedMessage(f"{where} must not hold NUL or half a character.")
    return value
