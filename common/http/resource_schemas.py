"""OpenAPI schemas of resources, as serializer classes, which drf-spectacular reads."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints
from uuid import UUID

from rest_framework import serializers

from common.resources import OneOf

Field = serializers.Field[Any, Any, Any, Any]

_FIELDS: Final[dict[Any, type[Field]]] = {
    str: serializers.CharField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    bool: serializers.BooleanField,
    datetime: serializers.DateTimeField,
    date: serializers.DateField,
    UUID: serializers.UUIDField,
    Any: serializers.JSONField,
}


@cache
def schema_of(resource: type) -> type[serializers.Serializer[Any]]:
    """Return the schema of a resource; it has the name and the docstring of the class."""
    hints = get_type_hints(resource, include_extras=True)
    return _schema(resource.__name__, resource.__doc__, {each.name: _field(hints[each.name]) for each in fields(resource)})


def list_of(resource: type) -> serializers.BaseSerializer[Any]:
    """Return the schema of a list of resources; of a page of them where the view has pages."""
    return schema_of(resource)(many=True)


def page_of(resource: type, name: str, about: str) -> type[serializers.Serializer[Any]]:
    """Return a named schema of what `CursorPagination` returns."""
    links = {link: serializers.CharField(allow_null=True) for link in ("next", "previous")}
    return _schema(name, about, {**links, "results": list_of(resource)})


def _schema(name: str, about: str | None, members: dict[str, Any]) -> type[serializers.Serializer[Any]]:
    return type(name, (serializers.Serializer,), {"__doc__": about, **members})


def _field(hint: Any) -> Any:
    """Return the field of an annotation.

    Besides the text of its description, the annotation may have one note: `OneOf`, or a serializer field that
    describes the value instead of its type, for example the one that requests have for it.
    """
    hint, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    options: dict[str, Any] = {}
    for text in (note for note in notes if isinstance(note, str)):
        options["help_text"] = text
    if isinstance(hint, UnionType):
        (hint,) = (each for each in get_args(hint) if each is not NoneType)
        options["allow_null"] = True
    note = next((each for each in notes if not isinstance(each, str)), None)
    return _kind(hint, note)(**options)


def _kind(hint: Any, note: Any) -> Callable[..., Any]:
    if isinstance(note, OneOf):
        return partial(serializers.ChoiceField, choices=note.choices)
    if note is not None or is_dataclass(hint):
        return note or schema_of(hint)
    if get_origin(hint) is dict:
        return serializers.DictField
    if get_origin(hint) is not list:
        return _FIELDS[hint]
    child = _field(get_args(hint)[0])
    if isinstance(child, serializers.Serializer):
        return partial(type(child), many=True)
    return partial(serializers.ListField, child=child)
