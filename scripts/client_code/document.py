"""The parts of an OpenAPI document that the client is made of: types, operations, and who uses which schema."""

import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

Schema = Mapping[str, Any]

METHODS: Final = ("get", "post", "put", "patch", "delete")
# A search has a parameter for each field and operator; only these become arguments, the others go into `filters`.
OPTIONS: Final = (
    *("q", "gpu_count", "billing_mode", "term", "data_disk_gb", "image", "mountable_volume", "sort"),
    *("limit", "cursor"),
)
MOST_PARAMETERS: Final = 25
SHARED: Final = "shared"


@dataclass(frozen=True)
class Parameter:
    """One argument of a method: where it goes, its type, and whether it may be left out."""

    name: str
    wire_name: str
    place: str  # path, query or body
    annotation: str
    required: bool
    about: str


@dataclass(frozen=True)
class Operation:
    """One method of one path, as a method of a resource."""

    resource: str
    name: str
    method: str
    path: str
    about: str
    parameters: tuple[Parameter, ...]
    answer: str  # a type; "" where there is no body
    item: str  # type of one result where the answer is a page, else ""
    open_filters: bool  # takes further query parameters as a mapping


@dataclass(frozen=True)
class Document:
    """An OpenAPI document, read for the generator."""

    raw: Mapping[str, Any]

    @property
    def schemas(self) -> Mapping[str, Schema]:
        found: Mapping[str, Schema] = self.raw["components"]["schemas"]
        return found

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        return tuple(
            self._operation(path, method, item[method])
            for path, item in self.raw["paths"].items()
            for method in METHODS
            if method in item
        )

    @cached_property
    def modules(self) -> dict[str, str]:
        """The module of each schema that the client needs: the only resource that uses it, or `shared`."""
        users: dict[str, set[str]] = {}
        for path, item in self.raw["paths"].items():
            for operation in (item[method] for method in METHODS if method in item):
                for name in self._reached(_parts_of(operation, self)):
                    users.setdefault(name, set()).add(resource_of(path))
        return {name: next(iter(who)) if len(who) == 1 else SHARED for name, who in sorted(users.items())}

    def _reached(self, parts: Iterator[Any]) -> set[str]:
        found: set[str] = set()
        queue = [name for part in parts for name in refs(part)]
        while queue:
            name = queue.pop()
            if name not in found and name not in ("NullEnum", "BlankEnum", "Problem"):
                found.add(name)
                queue += refs(self.schemas[name])
        return found

    def is_choice(self, name: str) -> bool:
        return "enum" in self.schemas[name]

    def members(self, name: str) -> tuple[dict[str, Schema], set[str]]:
        """Return the properties and which are required; of alternatives all properties, and what each requires."""
        schema = self.schemas[name]
        if "oneOf" not in schema:
            return dict(schema.get("properties", {})), set(schema.get("required", []))
        each = [self.members(found) for found in refs(schema["oneOf"])]
        return {key: value for properties, _ in each for key, value in properties.items()}, set.intersection(
            *(required for _, required in each)
        )

    def annotation(self, schema: Schema, *, sent: bool = False) -> str:
        """Return the Python type of a schema; what is sent may be a little more than what is received."""
        if "$ref" in schema:
            return self._named(schema["$ref"].rpartition("/")[2], sent=sent)
        for joint in ("oneOf", "anyOf", "allOf"):
            if joint in schema:
                return " | ".join(dict.fromkeys(self.annotation(each, sent=sent) for each in schema[joint]))
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return " | ".join(self.annotation({**schema, "type": kind}, sent=sent) for kind in kinds)
        return self._plain(schema, sent=sent)

    def _named(self, name: str, *, sent: bool) -> str:
        if name == "NullEnum":
            return "None"
        if name == "BlankEnum" or (self.is_choice(name) and not sent):
            return "str"
        return f"models.{class_name(name)}"

    def _plain(self, schema: Schema, *, sent: bool) -> str:
        kind = schema.get("type")
        if kind == "array":
            item = self.annotation(schema["items"], sent=sent)
            return f"Sequence[{item}]" if sent else f"list[{item}]"
        if kind == "string":
            return _text(schema, sent=sent)
        if kind == "object":
            return "Mapping[str, Any]" if sent else "dict[str, Any]"
        return {"integer": "int", "number": "float", "boolean": "bool", "null": "None"}.get(str(kind), "Any")

    def _operation(self, path: str, method: str, raw: Schema) -> Operation:
        resource = resource_of(path)
        answer, page = self._answer(raw)
        parameters = [*self._parameters(raw), *self._body(raw)]
        item = self._item(page) if page and any(each.name == "cursor" for each in parameters) else ""
        is_list = bool(item) or answer.startswith("list[") or answer.endswith("Page")
        return Operation(
            resource=resource,
            name=method_name(resource, raw["operationId"], is_list=is_list),
            method=method.upper(),
            path=path,
            about=raw.get("description", ""),
            parameters=tuple(
                sorted(
                    parameters,
                    key=lambda each: (
                        path.find(f"{{{each.wire_name}}}") if each.place == "path" else len(path),
                        not each.required,
                    ),
                )
            ),
            answer=answer,
            item=item,
            open_filters=len(raw.get("parameters", [])) > MOST_PARAMETERS,
        )

    def _answer(self, raw: Schema) -> tuple[str, str]:
        """Return the type of the answer, and the schema's name if it has one."""
        for status, reply in sorted(raw["responses"].items()):
            if not status.startswith("2") or "content" not in reply:
                continue
            (media, content), *_ = reply["content"].items()
            if media != "application/json":
                return ("str" if media.startswith("text/") else "bytes"), ""
            return self.annotation(content["schema"]), content["schema"].get("$ref", "").rpartition("/")[2]
        return "", ""

    def _item(self, page: str) -> str:
        properties = self.schemas[page].get("properties", {})
        if not {"next", "results"} <= properties.keys():
            return ""
        return self.annotation(properties["results"]["items"])

    def _parameters(self, raw: Schema) -> Iterator[Parameter]:
        many = len(raw.get("parameters", [])) > MOST_PARAMETERS
        for each in raw.get("parameters", []):
            place, name = each["in"], each["name"]
            if place == "header" or name == "dry_run" or (many and place == "query" and name not in OPTIONS):
                continue
            kind = self.annotation(each["schema"], sent=True)
            needed = place == "path" or each.get("required", False)
            yield Parameter(safe_name(name), name, place, kind, needed, each.get("description", ""))

    def _body(self, raw: Schema) -> Iterator[Parameter]:
        content = raw.get("requestBody", {}).get("content", {}).get("application/json")
        if content is None:
            return
        properties, required = self.members(content["schema"]["$ref"].rpartition("/")[2])
        for name, schema in properties.items():
            kind, needed = self.annotation(schema, sent=True), name in required
            yield Parameter(safe_name(name), name, "body", kind, needed, schema.get("description", ""))


def _parts_of(operation: Schema, document: Document) -> Iterator[Any]:
    """Answers, and what is inside of bodies, which become arguments themselves."""
    yield [reply for status, reply in operation["responses"].items() if status.startswith("2")]
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is not None:
        yield document.members(content["schema"]["$ref"].rpartition("/")[2])[0]


def _text(schema: Schema, *, sent: bool) -> str:
    if schema.get("format") == "date-time":
        return "datetime | str" if sent else "datetime"
    is_amount = schema.get("format") == "decimal" or str(schema.get("pattern", "")).startswith(("^[0-9]", "^\\d{1,9}"))
    return "Decimal | str" if sent and is_amount else "str"


def refs(part: Any) -> list[str]:
    """Return the schemas that a part of the document names."""
    if isinstance(part, Mapping):
        own = [part["$ref"].rpartition("/")[2]] if isinstance(part.get("$ref"), str) else []
        return own + [name for inner in part.values() for name in refs(inner)]
    return [name for inner in part for name in refs(inner)] if isinstance(part, list) else []


def resource_of(path: str) -> str:
    return path.removeprefix("/api/v1/").partition("/")[0].replace("-", "_")


def method_name(resource: str, operation: str, *, is_list: bool) -> str:
    """Return `create` of `instances_create`, `get` of `wallet`, `list` of `orders`; a keyword ends with an underscore."""
    last_word = resource.rpartition("_")[2]
    for prefix in (resource, last_word):
        if operation == prefix:
            return "list" if is_list else "get"
        if operation.startswith(f"{prefix}_"):
            rest = operation.removeprefix(f"{prefix}_")
            return safe_name(re.sub(r"(^|_)retrieve$", r"\1get", rest))
    return operation


def class_name(schema: str) -> str:
    return schema.removesuffix("Enum")


def safe_name(name: str) -> str:
    plain = re.sub(r"\W", "_", name).lower()
    return f"{plain}_" if keyword.iskeyword(plain) else plain
