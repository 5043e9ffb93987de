"""What the API's views have in common: the input, checked, and being open to everyone."""

import threading
from collections.abc import Mapping
from typing import Any

from rest_framework.permissions import AllowAny
from rest_framework.serializers import Serializer
from rest_framework.views import APIView


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


def checked(shape: type[Serializer[Any]], given: Any) -> dict[str, Any]:
    """The fields of a body or query string as `shape` reads them; whatever else was sent is a 400 naming the field."""
    if isinstance(given, Mapping):
        return dict(_kept.form(shape).run_validation(given))
    form = shape(data=given)  # says in words of its own that it is no object
    form.is_valid(raise_exception=True)
    return dict(form.validated_data)
