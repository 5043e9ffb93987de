"""What all views of the API of Vast share: tokens, errors in the words of its clients, plain JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.constants import CONNECT
from accounts.web.authentication import TokenAuthentication
from accounts.web.permissions import holds_scope
from common.http.problems import problem_handler
from vast.errors import InvalidArgs, NotSupported

_KEY = "api_key"
_NUMBER = "number"


class QueryToken(TokenAuthentication):
    """Authentication by a bearer token, or by `api_key` in the query as older clients send it."""

    def token_text(self, request: Request) -> str | None:
        return super().token_text(request) or request.query_params.get(_KEY)


class VastView(APIView):
    """View of the API of Vast; it stands in no OpenAPI document of ours."""

    schema = None
    authentication_classes: Sequence[type[BaseAuthentication]] = (QueryToken,)

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the method with the numbers in the address as integers."""
        return super().dispatch(request, *args, **{name: _read(name, value) for name, value in kwargs.items()})

    def get_exception_handler(self) -> Any:
        return vast_error


def _read(name: str, value: str) -> int | str:
    return int(value) if name == _NUMBER else value


def vast_error(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """Return an error as clients of Vast read it, with the members of a problem document beside.

    An unexpected error is raised again and becomes a 500 without details.
    """
    if isinstance(error, MethodNotAllowed):
        error = NotSupported(f"{error.detail} See docs/vast.md for what this market supports.")
    response = problem_handler(error, context)
    if response is None:
        return None
    problem = response.data
    wrong = [f"{each['field']}: {each['detail']}" for each in problem["errors"] if each["detail"] != problem["detail"]]
    message = " ".join([str(problem["detail"]), *wrong])
    body = {**problem, "success": False, "error": problem["code"], "msg": message}
    headers = {name: value for name, value in response.headers.items() if name.lower() != "content-type"}
    return Response(body, status=response.status_code, headers=headers, content_type="application/json")


def body_of(request: Request) -> dict[str, Any]:
    """Return the object in the body; an empty body is an empty object.

    Raises:
        InvalidArgs: it holds something else.
    """
    body: Any = request.data
    if not body and not isinstance(body, list):
        return {}
    if not isinstance(body, dict):
        raise InvalidArgs("Send an object.")
    return body


def may_connect(request: Request) -> bool:
    """Return whether the token may see what opens an instance."""
    return holds_scope(request, CONNECT)


def success(**members: Any) -> Response:
    return Response({"success": True, **members})
