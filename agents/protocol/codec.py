"""Messages to JSON and back. Unknown fields are ignored (a newer peer), missing or mistyped ones are refused."""

import json
import re
import types
import typing
from dataclasses import MISSING, Field, asdict, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

M = TypeVar("M")

_LARGEST = 2**53  # beyond it, whole numbers are not the same in every reader of JSON
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")  # what neither UTF-8 nor a database column can hold


class MalformedMessage(Exception):
    """The bytes are not a message of the expected kind; the text names the field."""


def encode(message: Any) -> bytes:
    return json.dumps(asdict(message), separators=(",", ":"), ensure_ascii=False).encode()


def decode(kind: type[M], body: bytes) -> M:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedMessage("The body is not JSON.") from error
    return typing.cast(M, _read(kind, value, kind.__name__))


def words_of(text: str) -> dict[str, Any]:
    """What a piece of text says that is no message: a JSON object; empty for what is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@cache
def _shape(kind: Any) -> tuple[tuple[Field[Any], Any], ...]:
    hints = typing.get_type_hints(kind)
    return tuple((item, hints[item.name]) for item in fields(kind))


def _read(kind: Any, value: Any, where: str) -> Any:
    if is_dataclass(kind):
        return _read_message(kind, value, where)
    origin = typing.get_origin(kind)
    if origin is None:
        return _read_scalar(kind, value, where)
    return _read_generic(origin, typing.get_args(kind), value, where)


def _read_message(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise MalformedMessage(f"{where} must be an object.")
    found = {}
    for item, hint in _shape(kind):
        if item.name in value:
            found[item.name] = _read(hint, value[item.name], f"{where}.{item.name}")
        elif item.default is MISSING and item.default_factory is MISSING:
            raise MalformedMessage(f"{where}.{item.name} is missing.")
    return kind(**found)


def _read_scalar(kind: Any, value: Any, where: str) -> Any:
    if type(value) in (int, float) and not -_LARGEST <= value <= _LARGEST:  # nor is NaN
        raise MalformedMessage(f"{where} must be a finite number of at most 53 bits.")
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise MalformedMessage(f"{where} must be of type {getattr(kind, '__name__', kind)}.")
    if kind is str and _NO_TEXT.search(value):
        raise MalformedMessage(f"{where} must not hold NUL or half a character.")
    return value


def _read_generic(origin: Any, args: tuple[Any, ...], value: Any, where: str) -> Any:
    if origin is typing.Literal:
        if value not in args:
            raise MalformedMessage(f"{where} must be one of {', '.join(map(str, args))}.")
        return value
    if origin in (types.UnionType, typing.Union):
        inner = next(arg for arg in args if arg is not type(None))
        return None if value is None else _read(inner, value, where)
    if origin is dict:
        return _read_mapping(args[1], value, where)
    if not isinstance(value, list):
        raise MalformedMessage(f"{where} must be a list.")
    kinds = _kinds_of_items(origin, args, len(value), where)
    return origin(_read(kind, item, f"{where}[{n}]") for n, (kind, item) in enumerate(zip(kinds, value, strict=True)))


def _kinds_of_items(origin: Any, args: tuple[Any, ...], count: int, where: str) -> tuple[Any, ...]:
    """A list repeats its one kind; a tuple has a kind for each place."""
    if origin is list:
        return args * count
    if count != len(args):
        raise MalformedMessage(f"{where} must have {len(args)} items.")
    return args


def _read_mapping(kind: Any, value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MalformedMessage(f"{where} must be an object.")
    return {key: _read(kind, item, f"{where}.{key}") for key, item in value.items()}
