"""Hostile values in every parameter and every field of the OpenAPI document: refused in the documented form, and soon."""

import json
import time
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote, urlencode

import pytest
from django.test import Client

from accounts.constants import SCOPES
from accounts.models import User
from accounts.tokens.services import issue_token
from common.http.openapi import schema
from common.http.outbound import OutboundFault, OutboundResponse
from common.http.problems import PROBLEM_TYPE
from tests.api.world import World
from tests.profiles import IS_LONG

METHODS: Final = ("get", "post", "put", "patch", "delete")
COSTS_AT_MOST_S: Final = 4.0  # of the processor: a busy machine makes a test wait, but not work
ENDS_WITHIN_S: Final = 30.0  # by the clock: a statement of the web may take 15
DEEP: Final = "[" * 100_000
LONG: Final = "x" * 900_000
BIDI: Final = "exe\u202ecod.\u200b"
# For one field at a time. The first are refused before any field is looked at.
OF_A_BODY: Final = (rb'"\u0000"', rb'"\ud800"', b"[" * 5_000, b"1e400", b"NaN", b"1" + b"0" * 300)
OF_A_FIELD: Final[tuple[Any, ...]] = (LONG, BIDI, 2**63 - 1, -1, 1e308, None, [], {}, [{}], "NaN", "-1")
OF_A_PARAMETER: Final = (BIDI, "", "-1", "9" * 40, "1e400", "NaN", "x" * 6_000, "²", "a,b")
OF_A_PATH: Final = (BIDI, "-1", "9" * 40, "NaN", "x" * 3_000, "a\x00", "..", "inst_" + "z" * 26, "é", "%", "[" * 500)


@pytest.fixture(autouse=True)
def no_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> OutboundResponse:
        raise OutboundFault("unresolved", "The domain name can't be resolved.")

    monkeypatch.setattr("storage.clients.oci_registry.client.send_request", refuse)
    monkeypatch.setattr("common.object_store.send_request", refuse)


def operations() -> Iterator[tuple[str, str, str]]:
    """Method, path and who asks: what is open to everyone answers both alike, and host owners ask mostly of hosts."""
    for path, item in schema()["paths"].items():
        for method in (name for name in METHODS if name in item):
            is_public = {} in item[method].get("security", [{}])
            asks_too = not is_public and (IS_LONG or "host" in path)
            yield from ((method, path, who) for who in ("renter", "host_owner")[: 2 if asks_too else 1])


def resolved(shape: dict[str, Any]) -> dict[str, Any]:
    """Behind references, and the one part of a union."""
    while "$ref" in shape:
        shape = schema()["components"]["schemas"][shape["$ref"].rpartition("/")[2]]
    for word in ("allOf", "oneOf", "anyOf"):
        if word in shape:
            return resolved(shape[word][0])
    return shape


def fields_of(operation: dict[str, Any]) -> dict[str, dict[str, Any]]:
    content = operation.get("requestBody", {}).get("content", {})
    shape = resolved(content.get("application/json", {}).get("schema", {}))
    return {name: resolved(each) for name, each in shape.get("properties", {}).items() if not each.get("readOnly")}


def lawful(name: str, shape: dict[str, Any], ids: dict[str, str]) -> Any:
    """Something that the field may take, so that the others are looked at."""
    kind = shape.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if "enum" in shape:
        return shape["enum"][0]
    if kind == "array":
        return [lawful(name, resolved(shape.get("items", {})), ids)]
    if kind == "object":
        return {each: lawful(each, resolved(part), ids) for each, part in shape.get("properties", {}).items()}
    known = ids.get(name) or ids.get(f"{name}_id") or ids.get(name.removesuffix("s"))
    return {"integer": 1, "number": 1, "boolean": True}.get(str(kind), known or "1")


class Caller:
    """One person, and what was answered amiss."""

    def __init__(self, user: User) -> None:
        _, text = issue_token(user=user, name="hostile", scopes=list(SCOPES))
        self.client = Client(headers={"Authorization": f"Bearer {text}"}, raise_request_exception=False)
        self.amiss: list[str] = []

    def send(self, method: str, address: str, body: bytes, of: str) -> None:
        begun, idle = time.perf_counter(), time.thread_time()
        reply = self.client.generic(method.upper(), address, body, content_type="application/json" if body else "")
        took, cost = time.perf_counter() - begun, time.thread_time() - idle
        if reply.status_code >= 500 or cost > COSTS_AT_MOST_S or took > ENDS_WITHIN_S or not in_form(reply):
            self.amiss.append(f"{of}: {reply.status_code} in {cost:.1f} of {took:.1f} s, {reply.content[:80]!r}")


def in_form(reply: Any) -> bool:
    if reply.status_code < 400:
        return True
    body = json.loads(reply.content)
    standard = {"type", "title", "status", "detail", "code", "errors"} <= body.keys()
    return bool(standard and reply["Content-Type"] == PROBLEM_TYPE and body["status"] == reply.status_code)


def bodies(operation: dict[str, Any], ids: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    fields = fields_of(operation)
    whole = {name: lawful(name, shape, ids) for name, shape in fields.items()}
    for hostile in OF_A_BODY:
        inner = b",".join(b'"%s":%s' % (name.encode(), hostile) for name in fields or ["a"])
        yield f"each field {hostile[:12]!r}", b"{" + inner + b"}"
    for odd in (b"", b"[]", b"null", b"1", b'"a"', DEEP.encode(), b'{"\\ud800": "\\u0000"}', b"{"):
        yield f"body {odd[:12]!r}", odd
    for name, shape in fields.items():
        for value in OF_A_FIELD:
            yield f"{name} = {str(value)[:20]!r}", json.dumps(whole | {name: value}).encode()
        if shape.get("type") == "object":
            inner = whole[name]
            for part in inner:
                for value in OF_A_FIELD:
                    yield f"{name}.{part} = {str(value)[:20]!r}", json.dumps(whole | {name: inner | {part: value}}).encode()


def address_of(path: str, ids: dict[str, str], **other: str) -> str:
    for name, value in {**ids, **other}.items():
        path = path.replace(f"{{{name}}}", quote(value, safe=""))
    return path


@pytest.mark.parametrize(("method", "path", "who"), list(operations()))
def test_hostile_values_are_refused(world: World, method: str, path: str, who: str) -> None:
    operation, caller = schema()["paths"][path][method], Caller(getattr(world, who))
    at, parameters = address_of(path, world.ids), operation.get("parameters", [])
    for parameter in parameters:
        name, place = parameter["name"], parameter["in"]
        for value in OF_A_PATH if place == "path" else ():
            caller.send(method, address_of(path, world.ids, **{name: value}), b"", f"{name} = {value[:20]!r}")
        for value in OF_A_PARAMETER if place == "query" else ():
            caller.send(method, f"{at}?{urlencode({name: value})}", b"", f"?{name}={value[:20]!r}")
    queried = [parameter["name"] for parameter in parameters if parameter["in"] == "query"]
    caller.send(method, f"{at}?{'&'.join(f'{name}=%00' for name in queried or ['a'])}", b"", "NUL in each parameter")
    if method != "get":
        for of, body in bodies(operation, world.ids):
            caller.send(method, at, body, of)
    assert caller.amiss == []
