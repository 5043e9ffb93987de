"""Answers of a market that exists only in a test."""

from typing import Any

import msgspec

from berth import models
from tests.clients.lying_server import Market, Trick

OWN = "inst_" + "1" * 32


def sample(kind: Any) -> Any:
    """Return a value of this type with nothing in it."""
    inner = msgspec.inspect.type_info(kind) if not isinstance(kind, msgspec.inspect.Type) else kind
    if isinstance(inner, msgspec.inspect.StructType):
        return {each.encode_name: sample(each.type) for each in inner.fields if each.required}
    if isinstance(inner, msgspec.inspect.UnionType):
        return None if inner.includes_none else sample(inner.types[-1])
    empty: dict[type, Any] = {
        msgspec.inspect.StrType: "x",
        msgspec.inspect.IntType: 1,
        msgspec.inspect.FloatType: 1.0,
        msgspec.inspect.BoolType: False,
        msgspec.inspect.ListType: [],
        msgspec.inspect.DictType: {},
        msgspec.inspect.DateTimeType: "2026-11-26T00:00:00Z",
        msgspec.inspect.LiteralType: "x",
    }
    return empty.get(type(inner))


def instance(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = sample(models.InstanceOut)
    found |= {"id": OWN, "name": "box", "state": "running", "desired": "running", **changes}
    found["host"] |= {"id": "host_1", "runtime": "docker"}
    found["access"] |= {"ssh": {"host": "203.0.113.1", "port": 41000, "user": "root", "command": "ssh"}}
    return found


def answers(market: Market, *values: Any) -> None:
    def answer(value: Any) -> Trick:
        return lambda handler, _: handler.send(200, value)

    market.tricks = [answer(value) for value in values]
