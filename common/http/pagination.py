"""Cursor pagination by the position of the last row: a deep page costs what the first one does."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson
from django.core import signing
from django.db.models import Q
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import remove_query_param, replace_query_param

from common.errors import FieldError, InvalidInput
from common.json import to_json

if TYPE_CHECKING:
    from rest_framework.views import APIView  # which imports this module through its defaults

DEFAULT_LIMIT = 50
MAX_LIMIT = 200


class CursorPagination(BasePagination):
    """Pages of `limit` rows (models or dicts), linked by the signed `cursor` in `next` and `previous`.

    A view's `ordering` names the sort fields, which must not be null. `id` is added, so that otherwise equal rows
    are neither lost nor repeated between two pages.
    """

    ordering: str | Sequence[str] = ("-created_at",)

    def paginate_queryset(self, queryset: Any, request: Request, view: "APIView | None" = None) -> list[Any]:
        fields = _total_order(getattr(view, "ordering", self.ordering))
        limit = _limit(request)
        backwards, position = _read_cursor(request, fields)
        walk = [_reversed(name) for name in fields] if backwards else fields
        if position is not None:
            queryset = queryset.filter(_beyond(walk, position))
        rows = list(queryset.order_by(*walk)[: limit + 1])
        more = len(rows) > limit
        page = rows[:limit][::-1] if backwards else rows[:limit]
        self._address = request.build_absolute_uri()
        self.next = self._link(fields, page, last=True) if page and (more or backwards) else None
        came_from_before = position is not None and not backwards
        self.previous = self._link(fields, page, last=False) if page and (came_from_before or (backwards and more)) else None
        return page

    def get_paginated_response(self, data: object) -> Response:
        return Response({"next": self.next, "previous": self.previous, "results": data})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        link = {"type": ["string", "null"], "format": "uri"}
        properties = {"next": link, "previous": link, "results": schema}
        return {"type": "object", "required": list(properties), "properties": properties}

    def get_schema_operation_parameters(self, view: "APIView") -> list[dict[str, Any]]:
        limit = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}
        return [
            {"name": "limit", "in": "query", "required": False, "schema": limit, "description": "Rows per page"},
            {
                "name": "cursor",
                "in": "query",
                "required": False,
                "schema": {"type": "string"},
                "description": "Taken from `next` or `previous`",
            },
        ]

    def _link(self, fields: Sequence[str], page: Sequence[Any], *, last: bool) -> str:
        row = page[-1 if last else 0]
        position = [_value(row, name.lstrip("-")) for name in fields]
        content = orjson.loads(to_json([not last, position]))
        address = remove_query_param(self._address, "cursor")
        return str(replace_query_param(address, "cursor", signing.dumps(content, salt=_salt(fields))))


def _total_order(ordering: str | Sequence[str]) -> list[str]:
    fields = [ordering] if isinstance(ordering, str) else list(ordering)
    if not {"id", "-id", "pk", "-pk"} & set(fields):
        fields.append("-id" if fields[-1].startswith("-") else "id")
    return fields


def _limit(request: Request) -> int:
    text = request.query_params.get("limit", str(DEFAULT_LIMIT))
    limit = int(text) if text.isascii() and text.isdecimal() and len(text) <= len(str(MAX_LIMIT)) else 0
    if not 1 <= limit <= MAX_LIMIT:
        detail = f"Give a whole number from 1 to {MAX_LIMIT}."
        raise InvalidInput("The limit is not usable.", errors=[FieldError("limit", "invalid", detail)])
    return limit


def _read_cursor(request: Request, fields: Sequence[str]) -> tuple[bool, list[Any] | None]:
    """Return direction and position; without a cursor, the first row."""
    text = request.query_params.get("cursor")
    if text is None:
        return False, None
    try:
        backwards, position = signing.loads(text, salt=_salt(fields))
    except signing.BadSignature as error:
        detail = "Take the cursor from `next` or `previous` of a page of this list."
        raise InvalidInput("The cursor is not one of ours.", errors=[FieldError("cursor", "invalid", detail)]) from error
    return backwards, position


def _salt(fields: Sequence[str]) -> str:
    return f"cursor:{','.join(fields)}"


def _reversed(name: str) -> str:
    return name[1:] if name.startswith("-") else f"-{name}"


def _beyond(fields: Sequence[str], position: Sequence[Any]) -> Q:
    """Return the condition for rows after `position`: (a > x) or (a = x and b > y) ….

    a >= x comes first, so that an index on `a` can be used.
    """
    beyond = Q()
    for depth, (name, value) in enumerate(zip(fields, position, strict=True)):
        equal = Q(**{field.lstrip("-"): position[place] for place, field in enumerate(fields[:depth])})
        beyond |= equal & Q(**{f"{name.lstrip('-')}__{_side(name)}": value})
    return Q(**{f"{fields[0].lstrip('-')}__{_side(fields[0])}e": position[0]}) & beyond


def _side(name: str) -> str:
    return "lt" if name.startswith("-") else "gt"


def _value(row: Any, path: str) -> Any:
    if isinstance(row, dict):
        return row[path]
    for name in path.split("__"):
        row = getattr(row, name)
    return row
