"""What the API's views have in common: the input, checked, and being open to everyone."""

from typing import Any

from rest_framework.permissions import AllowAny
from rest_framework.serializers import Serializer
from rest_framework.views import APIView


class PublicView(APIView):
    """Open to everyone; who asks is not even looked at."""

    authentication_classes = ()
    permission_classes = (AllowAny,)


def checked(shape: type[Serializer[Any]], given: Any) -> dict[str, Any]:
    """The fields of a body or query string as `shape` reads them; whatever else was sent is a 400 naming the field."""
    form = shape(data=given)
    form.is_valid(raise_exception=True)
    return dict(form.validated_data)
