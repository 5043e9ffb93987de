"""Messages to JSON and back. Unknown fields are ignored (a newer peer), missing or mistyped ones are refused."""

import json
import types
import typing
from dataclasses import MISSING, Field, asdict, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

M = TypeVar("M")


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
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        raise MalformedMessage(f"{where} must be of type {getattr(kind, '__name__', kind)}.")
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
        if not isinstance(value, dict):
            raise MalformedMessage(f"{where} must be an object.")
        return {key: _read(args[1], item, f"{where}.{key}") for key, item in value.items()}
    if not isinstance(value, list):
        raise MalformedMessage(f"{where} must be a list.")
    if origin is tuple:
        if len(value) != len(args):
            raise MalformedMessage(f"{where} must have {len(args)} items.")
        return tuple(_read(arg, item, f"{where}[{n}]") for n, (arg, item) in enumerate(zip(args, value, strict=True)))
    return [_read(args[0], item, f"{where}[{n}]") for n, item in enumerate(value)]
