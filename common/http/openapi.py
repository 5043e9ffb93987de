"""The API's OpenAPI 3.1 document, generated once per process, and operations for the reference page."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from common.http.problems import PROBLEM_TYPE
from common.json import to_json

_METHODS = ("get", "post", "put", "patch", "delete")
_WRITES = ("post", "put", "patch")
_PROBLEM = {
    "type": "object",
    "description": "Problem details (RFC 9457). `code` is stable; programs should rely on it.",
    "required": ["type", "title", "status", "detail", "code", "errors"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "code", "detail"],
                "properties": {name: {"type": "string"} for name in ("field", "code", "detail")},
            },
        },
    },
}
_REASONS = {
    "400": "The input is not valid",
    "401": "No token, or one that is unknown, revoked or expired",
    "402": "The wallet does not have enough funds",
    "403": "The token lacks a scope, or you do not have access",
    "404": "Not found, or it belongs to another account",
    "409": "Not possible in the current state",
    "413": "The request body is too large",
    "415": "The body is not application/json",
    "422": "The Idempotency-Key was used for a different request, or a referenced object cannot be used",
    "429": "Too many requests; wait for Retry-After seconds",
    "503": "The service is busy; try again after Retry-After seconds",
}
_IDEMPOTENCY_PARAMETERS = (
    {
        "in": "header",
        "name": "Idempotency-Key",
        "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
        "description": "Repeating a request with the same key and body returns the same response.",
    },
    {
        "in": "query",
        "name": "dry_run",
        "schema": {"type": "boolean"},
        "description": "true: validate the request, return 200 with the outcome, and change nothing.",
    },
)


@dataclass(frozen=True)
class Operation:
    """One method of one path, for the reference page."""

    method: str
    path: str
    name: str
    tag: str
    summary: str
    parameters: tuple[dict[str, Any], ...]
    request: str
    replies: tuple[tuple[str, str], ...]
    public: bool


@cache
def schema() -> dict[str, Any]:
    """Return the document as a dictionary; callers must not change it."""
    generator: Any = SchemaGenerator  # without type information
    return dict(generator().get_schema(request=None, public=True))


@cache
def schema_json() -> bytes:
    return to_json(schema())


@cache
def schema_version() -> str:
    """Return an HTTP entity tag of the document."""
    return f'"{hashlib.sha256(schema_json()).hexdigest()[:16]}"'


@cache
def operations() -> tuple[Operation, ...]:
    """Return every operation in the document's order."""
    return tuple(
        _operation(method, path, item[method])
        for path, item in schema()["paths"].items()
        for method in _METHODS
        if method in item
    )


def document_problems(result: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Add to each operation its problem documents and, for POST, the headers that make it safe.

    This is a hook of drf-spectacular.
    """
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = _PROBLEM
    for path, item in result["paths"].items():
        for method in (name for name in _METHODS if name in item):
            operation = item[method]
            for status in _refusals(method, path, operation):
                operation["responses"][status] = _problem_reply(status) | operation["responses"].get(status, {})
            if method == "post":
                _document_repeats(operation)
    return result


def _refusals(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield from ("400", "413", "429", "503")
    if {} not in operation.get("security", [{}]):
        yield from ("401", "403")
    if "{" in path or method != "get" or "404" in operation["responses"]:
        yield "404"
    if method != "get" or "409" in operation["responses"]:
        yield "409"
    if method in _WRITES:
        yield from ("415", "422")
    if method == "post":
        yield "402"


def _problem_reply(status: str) -> dict[str, Any]:
    content = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {"description": _REASONS[status], "content": content}


def _document_repeats(operation: dict[str, Any]) -> None:
    parameters = operation.setdefault("parameters", [])
    known = {parameter["name"] for parameter in parameters}
    parameters += [parameter for parameter in _IDEMPOTENCY_PARAMETERS if parameter["name"] not in known]
    made = next((reply for status, reply in operation["responses"].items() if status.startswith("2")), None)
    if made is not None:
        operation["responses"].setdefault("200", {**made, "description": "The answer to a dry run"})


def _operation(method: str, path: str, operation: dict[str, Any]) -> Operation:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    replies = operation["responses"]
    return Operation(
        method=method.upper(),
        path=path,
        name=operation["operationId"],
        tag=next(iter(operation.get("tags", [])), ""),
        summary=operation.get("summary") or operation.get("description", ""),
        # Typed operators such as `price__lt` are more than a hundred; the grammar of searches describes them
        # in one table.
        parameters=tuple(_parameter(each) for each in operation.get("parameters", []) if "__" not in each["name"]),
        request=_schema_name(body),
        replies=tuple((status, _reply_name(reply)) for status, reply in sorted(replies.items())),
        public={} in operation.get("security", [{}]),
    )


def _parameter(found: dict[str, Any]) -> dict[str, Any]:
    """Return a parameter with a description, by default the type of its value."""
    return {**found, "description": found.get("description") or found.get("schema", {}).get("type", "")}


def _reply_name(reply: dict[str, Any]) -> str:
    content = reply.get("content", {})
    first: dict[str, Any] = next(iter(content.values()), {})
    return _schema_name(first.get("schema", {})) or reply.get("description", "")


def _schema_name(shape: dict[str, Any]) -> str:
    if shape.get("type") == "array":
        return f"{_schema_name(shape.get('items', {}))}[]"
    return str(shape.get("$ref", "")).rpartition("/")[2]
