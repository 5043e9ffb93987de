"""The client's modules as text: models, and each resource once for blocking and once for asynchronous programs."""

import re
import textwrap
from collections.abc import Iterator
from typing import Final

from scripts.client_code.document import SHARED, Document, Operation, Parameter, Schema, class_name, safe_name

HEAD: Final = "# Generated from the OpenAPI document by `make client`. Do not edit.\n"
WIDTH: Final = 112
OWN_OPTIONS: Final = {"idempotency_key", "dry_run", "timeout", "filters"}


def files(document: Document) -> dict[str, str]:
    """Return every generated module by its path below the package."""
    found = {f"models/{module}.py": text for module, text in _models(document)}
    found["models/__init__.py"] = _index(document)
    found["models/quote_fields.py"] = _quote_fields(document)
    for folder, is_async in (("_sync", False), ("_async", True)):
        resources = dict(_resources(document, is_async=is_async))
        found |= {f"{folder}/resources/{name}.py": text for name, text in resources.items()}
        found[f"{folder}/resources/__init__.py"] = _accessors(list(resources), folder, is_async=is_async)
    return found


# -- models


def _models(document: Document) -> Iterator[tuple[str, str]]:
    for module in sorted(set(document.modules.values())):
        names = [name for name, where in document.modules.items() if where == module]
        body = "\n\n".join(_model(document, name) for name in names)
        used = {name for name in re.findall(r"models\.(\w+)", body)}
        foreign = sorted(used - {class_name(name) for name in names})
        body = body.replace("models.", "")
        lines = [HEAD, '"""Shapes of the API."""\n', "from __future__ import annotations\n", *_imports(body)]
        if foreign:
            lines.append(f"from berth.models.{SHARED} import {', '.join(foreign)}")
        yield module, "\n".join(lines) + "\n\n" + body + "\n"


def _imports(body: str) -> list[str]:
    wanted = []
    if names := [name for name in ("Mapping", "Sequence") if f"{name}[" in body]:
        wanted.append(f"from collections.abc import {', '.join(names)}")
    if "datetime" in body:
        wanted.append("from datetime import datetime")
    if re.search(r"\bDecimal\b", body):
        wanted.append("from decimal import Decimal")
    if names := [name for name in ("Any", "Literal") if re.search(rf"\b{name}\b", body)]:
        wanted.append(f"from typing import {', '.join(names)}")
    if names := [name for name in ("UNSET", "Struct", "UnsetType", "field") if re.search(rf"\b{name}\b", body)]:
        wanted.append(f"from msgspec import {', '.join(names)}")
    return wanted


def _model(document: Document, name: str) -> str:
    schema = document.schemas[name]
    if document.is_choice(name):
        choices = ", ".join(f'"{value}"' for value in schema["enum"])
        return f"{class_name(name)} = Literal[{choices}] | str"
    fields = list(_fields(document, name))
    about = _docstring(schema.get("description", ""), _field_notes(schema))
    body = textwrap.indent("\n".join([about, *fields] if about else fields or ["pass"]), "    ")
    return f"class {class_name(name)}(Struct, frozen=True, kw_only=True):\n{body}\n"


def _fields(document: Document, model: str) -> Iterator[str]:
    properties, required = document.members(model)
    for name, inner in properties.items():
        kind = document.annotation(inner)
        needed, plain = name in required, safe_name(name)
        if plain != name:
            default = f'field(name="{name}")' if needed else f'field(name="{name}", default=UNSET)'
        else:
            default = "" if needed else "UNSET"
        kind = kind if needed else optional(kind)
        yield f"{plain}: {kind}" + (f" = {default}" if default else "")


def _field_notes(schema: Schema) -> list[tuple[str, str]]:
    properties = schema.get("properties", {})
    return [(safe_name(name), inner["description"]) for name, inner in properties.items() if inner.get("description")]


def optional(kind: str) -> str:
    """Return the type of a value that may be left out."""
    if kind == "Any":
        return kind
    others = [each for each in kind.split(" | ") if each != "None"]
    return " | ".join([*others, "UnsetType", *(["None"] if kind != " | ".join(others) else [])])


def _docstring(about: str, notes: list[tuple[str, str]], heading: str = "Attributes") -> str:
    if not about and not notes:
        return ""
    first, _, rest = about.strip().partition("\n")
    parts = [first or "As in the API."]
    if rest.strip():
        parts += ["", *(line for text in rest.strip().split("\n") for line in textwrap.wrap(text, WIDTH) or [""])]
    told = [
        (name, text.partition("* `")[0].strip()) for name, text in notes
    ]  # without the list of choices: they are in the type
    notes = [(name, text) for name, text in told if text]
    if notes:
        parts += ["", f"{heading}:", *(line for name, text in notes for line in _note(name, text))]
    text = "\n".join(parts).replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{text}\n"""' if "\n" in text else f'"""{text}"""'


def _note(name: str, text: str) -> list[str]:
    flat = " ".join(text.split())
    return textwrap.wrap(f"{name}: {flat}", WIDTH, initial_indent="    ", subsequent_indent="        ")


def _index(document: Document) -> str:
    homes = {class_name(name): module for name, module in document.modules.items()}
    imports = [
        f"    from berth.models.{module} import {name} as {name}"
        for name, module in sorted(homes.items(), key=lambda each: (each[1], each[0]))
    ]
    table = "\n".join(f'    "{name}": "{module}",' for name, module in sorted(homes.items()))
    return f'''{HEAD}
"""Shapes of the API, each imported when it is first named."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
{chr(10).join(imports)}

_HOMES = {{
{table}
}}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(name)
    found: object = getattr(import_module(f"berth.models.{{_HOMES[name]}}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(_HOMES)
'''


def _quote_fields(document: Document) -> str:
    """Return a module for the command line, whose options depend on what the API takes."""
    (create,) = (each for each in document.operations if (each.resource, each.name) == ("quotes", "create"))
    names = ", ".join(f'"{each.wire_name}"' for each in create.parameters if each.place == "body")
    return f'{HEAD}\n"""Fields of `POST /quotes`."""\n\nQUOTE_FIELDS = frozenset(({names},))\n'


# -- resources


def _resources(document: Document, *, is_async: bool) -> Iterator[tuple[str, str]]:
    by_resource: dict[str, list[Operation]] = {}
    for operation in document.operations:
        by_resource.setdefault(operation.resource, []).append(operation)
    base = "AsyncResource" if is_async else "Resource"
    for resource, operations in by_resource.items():
        methods = "\n".join(textwrap.indent(_method(each, is_async=is_async), "    ") for each in operations)
        text = f"class {_camel(resource)}({base}):\n{methods}"
        pagers = ["AsyncPager" if is_async else "Pager"] if "Pager[" in text else []
        folder = "_async" if is_async else "_sync"
        lines = [
            HEAD,
            f'"""Requests of `{resource}`."""\n',
            "from __future__ import annotations\n",
            *_imports(text),
            *(["from msgspec import UNSET, UnsetType"] if "UNSET" in text and "from msgspec" not in text else []),
            "from berth import models" if "models." in text else "",
            "from berth._core.calls import Call",
            f"from berth.{folder}.resource import {', '.join([*pagers, base])}",
        ]
        yield resource, "\n".join(lines) + "\n\n\n" + text


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _method(operation: Operation, *, is_async: bool) -> str:
    paged = bool(operation.item)
    parameters = [each for each in operation.parameters if not (paged and each.name == "cursor")]
    signature = ", ".join(_signature(operation, parameters))
    notes = [(each.name, each.about) for each in parameters if each.about]
    about = _docstring(operation.about or f"{operation.method} {operation.path}", notes, "Args")
    if paged:
        name = "AsyncPager" if is_async else "Pager"
        head, result = f"def {operation.name}", f"{name}[{operation.answer}, {operation.item}]"
        action = "return self._pages"
    else:
        head, result = f"{'async ' if is_async else ''}def {operation.name}", _tuple(operation.answer) or "None"
        action = "return await self._send" if is_async else "return self._send"
    call = _call(operation, parameters)
    page = f", {operation.item}" if paged else ""
    body = textwrap.indent(f"{about}\n{action}({call}{page})", "    ")
    return f"{head}({signature}) -> {result}:\n{body}\n"


def _tuple(kind: str) -> str:
    """Return the type of an answer; `list` is a method's name in most resources."""
    return re.sub(r"^list\[(.*)\]$", r"tuple[\1, ...]", kind)


def _signature(operation: Operation, parameters: list[Parameter]) -> Iterator[str]:
    yield "self"
    yield from (f"{each.name}: {each.annotation}" for each in parameters if each.place == "path")
    yield "*"
    for each in parameters:
        if each.place != "path":
            yield f"{each.name}: {each.annotation}" if each.required else f"{each.name}: {optional(each.annotation)} = UNSET"
    if operation.open_filters:
        yield "filters: Mapping[str, Any] | None = None"
    if operation.method == "POST":
        yield from ("dry_run: bool = False", "idempotency_key: str | None = None")
    yield "timeout: float | None = None"


def _call(operation: Operation, parameters: list[Parameter]) -> str:
    path = operation.path
    for each in (each for each in parameters if each.place == "path"):
        path = path.replace(f"{{{each.wire_name}}}", f"{{self._part({each.name})}}")
    quoted = f'f"{path}"' if "{" in path else f'"{path}"'
    words = [f'"{operation.method}"', quoted, _tuple(operation.answer) or "type(None)"]
    for place in ("query", "body"):
        content = ", ".join(f'"{each.wire_name}": {each.name}' for each in parameters if each.place == place)
        if content or (place == "body" and operation.method in ("POST", "PUT", "PATCH")):
            content = f"**(filters or {{}}), {content}" if place == "query" and operation.open_filters else content
            words.append(f"{place}={{{content}}}")
    if operation.method == "POST":
        words += ["dry_run=dry_run", "key=self._key(idempotency_key)"]
    return f"Call({', '.join([*words, 'timeout=timeout'])})"


def _accessors(resources: list[str], folder: str, *, is_async: bool) -> str:
    imports = "\n".join(f"    from berth.{folder}.resources.{name} import {_camel(name)}" for name in resources)
    base = "AsyncClientBase" if is_async else "ClientBase"
    properties = "\n\n".join(
        f"    @cached_property\n    def {name}(self) -> {_camel(name)}:\n"
        f"        from berth.{folder}.resources.{name} import {_camel(name)}\n\n"
        f"        return {_camel(name)}(self)"
        for name in resources
    )
    return f'''{HEAD}
"""The resources of a client, each imported when it is first used."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from berth.{folder}.base import {base}

if TYPE_CHECKING:
{imports}


class Resources({base}):
    """Every resource of the API."""

{properties}
'''
