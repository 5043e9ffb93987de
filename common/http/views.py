"""What the API's views have in common: the input, checked, being open to everyone, fields of replies."""

import threading
from collections.abc import Mapping
from typing import Any

from rest_framework.permissions import AllowAny
from rest_framework.serializers import CharField, Serializer
from rest_framework.views import APIView

from common.ids import public_id
from common.money import format_money


class _Kept(threading.local):
    """One form of each shape in each thread: to make its fields takes eight times as long as to read an order."""

    def __init__(self) -> None:
        self._forms: dict[type[Serializer[Any]], Serializer[Any]] = {}

    def form(self, shape: type[Serializer[Any]]) -> Serializer[Any]:
        if shape not in self._forms:
            self._forms[shape] = shape()
        return self._forms[shape]


_kept = _Kept()


class PublicView(APIView):
    """Open to everyone; who asks is not even looked at."""

    authentication_classes = ()
    permission_classes = (AllowAny,)


class PublicId(CharField):
    """The primary key as the prefixed string that the outside sees."""

    def __init__(self, prefix: str, **options: Any) -> None:
        self.prefix = prefix
        super().__init__(read_only=True, source="pk", **options)

    def to_representation(self, value: Any) -> str:
        return public_id(self.prefix, value)


class Money(CharField):
    """Micro-units as a decimal string."""

    def __init__(self, source: str, **options: Any) -> None:
        super().__init__(read_only=True, source=source, **options)

    def to_representation(self, value: Any) -> str:
        return format_money(value)


def checked(shape: type[Serializer[Any]], given: Any) -> dict[str, Any]:
    """The fields of a body or query string as `shape` reads them; whatever else was sent is a 400 naming the field."""
    if isinstance(given, Mapping):
        return dict(_kept.form(shape).run_validation(given))
    form = shape(data=given)  # says in words of its own that it is no object
    form.is_valid(raise_exception=True)
    return dict(form.validated_data)
