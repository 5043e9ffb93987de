"""Validated requests for statements, and their pages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from rest_framework import serializers

from billing.models import Entry
from billing.statements.selectors import StatementLine, statement_lines
from common.errors import FieldError, InvalidInput, NotFound
from common.ids import parse_public_id

PAGE = 50
_MOST = 200


class StatementIn(serializers.Serializer[Any]):
    """Filters for lines: time of posting, kind, and instance."""

    since = serializers.DateTimeField(required=False, help_text="Posted at or after this time")
    until = serializers.DateTimeField(required=False, help_text="Posted before this time")
    kind = serializers.ChoiceField(Entry.Kind.choices, required=False)
    source = serializers.CharField(  # type: ignore[assignment]  # the metaclass takes the fields out of the class
        required=False, max_length=60, help_text="An instance ID: the instance, its disk, its kept GPUs"
    )
    limit = serializers.IntegerField(required=False, min_value=1, max_value=_MOST, default=PAGE)
    cursor = serializers.CharField(required=False, max_length=60, help_text="From `next`: the last entry's ID")


@dataclass(frozen=True)
class StatementPage:
    """Lines, and the cursor of the next page: empty at the end."""

    lines: list[StatementLine]
    next_cursor: str


def statement_page(owner_id: UUID, params: Mapping[str, Any], *, kind: str = "renter") -> StatementPage:
    """Return the requested page of the owner's wallet of this kind.

    Raises:
        InvalidInput: the request is not valid.
    """
    options = _checked(params)
    limit = options["limit"]
    lines = statement_lines(
        owner_id=owner_id,
        kind=kind,
        since=options.get("since"),
        until=options.get("until"),
        source=options.get("source"),
        entry_kind=options.get("kind"),
        limit=limit + 1,
        cursor=options.get("cursor", ""),
    )
    return StatementPage(lines[:limit], lines[limit - 1].id if len(lines) > limit else "")


def _checked(params: Mapping[str, Any]) -> dict[str, Any]:
    form = StatementIn(data={name: value for name, value in params.items() if value != ""})
    if not form.is_valid():
        errors = [FieldError(name, "invalid", str(texts[0])) for name, texts in form.errors.items()]
        raise InvalidInput("Invalid statement request.", errors=errors)
    options = dict(form.validated_data)
    if "source" in options:
        options["source"] = read_source(options["source"])
    return options


def read_source(text: str) -> UUID | None:
    """Return the UUID in the id of an instance, or None for an empty text.

    It only filters; nothing is looked up.

    Raises:
        InvalidInput: it is not the id of an instance.
    """
    try:
        return parse_public_id("inst", text) if text else None
    except NotFound as error:
        fault = FieldError("source", "invalid", "Write the id of an instance, such as inst_….")
        raise InvalidInput("The source isn't an instance ID.", errors=[fault]) from error
