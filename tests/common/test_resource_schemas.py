"""Resources: one class is the response, its JSON and its OpenAPI schema."""

from datetime import UTC, datetime
from typing import Annotated, Any

from rest_framework import serializers

from common.http.resource_schemas import list_of, page_of, schema_of
from common.json import to_json
from common.resources import OneOf, resource


class Window(serializers.Serializer[Any]):
    """A span of hours, as a request has it."""

    hours = serializers.IntegerField(min_value=1)


@resource
class Part:
    """A part."""

    size: Annotated[int | None, "null: unknown"]


@resource
class Whole:
    """All of it."""

    id: str
    kind: Annotated[str, OneOf(("big", "small")), "How big"]
    at: datetime
    parts: Annotated[list[Part], "Largest first"]
    first: Part | None
    names: list[str]
    facts: Any
    window: Annotated[dict[str, int], Window]


@resource
class Detail(Whole):
    """All of it, and its price."""

    price: str


def detail() -> Detail:
    whole = Whole(
        id="w_1",
        kind="big",
        at=datetime(2026, 1, 2, tzinfo=UTC),
        parts=[Part(size=None)],
        first=None,
        names=["a"],
        facts={"x": 1},
        window={"hours": 3},
    )
    return Detail(**vars(whole), price="1.00")


def test_json_has_the_fields_in_their_order() -> None:
    assert to_json(detail()) == (
        b'{"id":"w_1","kind":"big","at":"2026-01-02T00:00:00Z","parts":[{"size":null}],"first":null,'
        b'"names":["a"],"facts":{"x":1},"window":{"hours":3},"price":"1.00"}'
    )


def test_a_schema_says_what_the_annotations_say() -> None:
    schema = schema_of(Detail)
    fields = schema().fields
    assert (schema.__name__, schema.__doc__) == ("Detail", "All of it, and its price.")
    assert list(fields) == ["id", "kind", "at", "parts", "first", "names", "facts", "window", "price"]
    assert isinstance(fields["id"], serializers.CharField)
    assert isinstance(fields["at"], serializers.DateTimeField)
    assert isinstance(fields["facts"], serializers.JSONField)
    assert isinstance(fields["window"], Window)
    assert isinstance(fields["kind"], serializers.ChoiceField)
    assert (list(fields["kind"].choices), fields["kind"].help_text) == (["big", "small"], "How big")
    assert [name for name, field in fields.items() if field.allow_null] == ["first"]
    assert fields["parts"].help_text == "Largest first"


def test_nested_schemas_are_made_once() -> None:
    fields = schema_of(Whole)().fields
    part = schema_of(Part)
    parts, names = fields["parts"], fields["names"]
    assert isinstance(parts, serializers.ListSerializer)
    assert type(parts.child) is type(fields["first"]) is part is schema_of(Part)
    assert isinstance(names, serializers.ListField)
    assert isinstance(names.child, serializers.CharField)
    size = part().fields["size"]
    assert (size.allow_null, size.help_text) == (True, "null: unknown")


def test_lists_and_pages() -> None:
    listed = list_of(Part)
    page = page_of(Part, "PartPage", "A page of parts.")
    assert isinstance(listed, serializers.ListSerializer)
    assert (page.__name__, page.__doc__, list(page().fields)) == (
        "PartPage",
        "A page of parts.",
        ["next", "previous", "results"],
    )
