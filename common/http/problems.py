"""Shared parts of the API's responses: problem documents (RFC 9457) and JSON."""

import logging
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpResponse
from rest_framework import exceptions
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from common.errors import Busy, DomainError, FieldError, Forbidden, InvalidInput, NotFound, TooOften
from common.http.bodies import escape_unstorable
from common.http.pagination import CursorPagination
from common.json import to_json

__all__ = ["CursorPagination", "add_retry_after", "problem_handler", "problem_response", "to_json"]

logger = logging.getLogger(__name__)

PROBLEM_TYPE = "application/problem+json"
_PROBLEM_URN = "urn:berth:problem:"
_BUSY_RETRY_S = 1

Reply = TypeVar("Reply", bound=HttpResponse)


class JsonRenderer(BaseRenderer):
    """Renderer with `to_json`, several times faster than the standard library on a page of offers."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(self, data: object, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        return b"" if data is None else to_json(data)


class JsonOnly(BaseContentNegotiation):
    """Content negotiation that always chooses JSON, whatever the request accepts."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        media_type = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == media_type), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)


def problem_body(error: DomainError) -> dict[str, Any]:
    """Return the members of a problem document; the error's own members cannot replace the standard ones."""
    return {
        **error.extra,
        "type": f"{_PROBLEM_URN}{error.code}",
        "title": str(error.title),
        "status": error.status,
        "detail": escape_unstorable(str(error.detail)),
        "code": error.code,
        "errors": [
            {"field": escape_unstorable(e.field), "code": e.code, "detail": escape_unstorable(str(e.detail))}
            for e in error.errors
        ],
    }


def problem_response(error: DomainError) -> HttpResponse:
    """Return a problem document from outside REST framework: unknown URLs, crashes, the fast path."""
    headers = _headers(error, error)
    return HttpResponse(to_json(problem_body(error)), status=error.status, content_type=PROBLEM_TYPE, headers=headers)


def add_retry_after(response: Reply, error: DomainError | None) -> Reply:
    """Add `Retry-After` to the response where the error has a waiting time; for pages that show the error."""
    if isinstance(error, TooOften):
        response.headers["Retry-After"] = str(math.ceil(error.wait))
    return response


def problem_handler(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """Return the response to an exception in REST framework.

    An unexpected error is raised again and becomes a 500 without details.
    """
    problem = _domain_error(error)
    if problem is None:
        return None
    return Response(
        problem_body(problem), status=problem.status, headers=_headers(error, problem), content_type=PROBLEM_TYPE
    )


def _headers(error: Exception, problem: DomainError) -> dict[str, str]:
    headers: dict[str, str] = {}
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    wait = getattr(error, "wait", None)
    if wait is not None:
        headers["Retry-After"] = str(max(1, math.ceil(wait)))
    elif isinstance(problem, Busy):
        headers["Retry-After"] = str(_BUSY_RETRY_S)
    return headers


def is_transient(error: BaseException | None) -> bool:
    """Return whether the database refused only for now; what was begun is rolled back.

    Examples are a lock timeout, a deadlock, and a lost connection.
    """
    return isinstance(error, (OperationalError, InterfaceError))


def _domain_error(error: Exception) -> DomainError | None:
    if isinstance(error, DomainError):
        return error
    if isinstance(error, Http404):
        return NotFound()
    if isinstance(error, PermissionDenied):
        return Forbidden()
    if is_transient(error):
        logger.warning("the database refused: %s", error)
        return Busy()
    if isinstance(error, exceptions.ValidationError):
        return InvalidInput(errors=list(_field_errors("", error.get_full_details())))
    return _from_framework(error) if isinstance(error, exceptions.APIException) else None


def _from_framework(error: exceptions.APIException) -> DomainError:
    problem = DomainError(str(error.detail))
    problem.status = error.status_code
    problem.code = str(error.default_code)
    problem.title = str(error.default_detail).partition(' "{')[0].rstrip(".")
    return problem


def _field_errors(path: str, details: Any) -> Iterator[FieldError]:
    """Flatten REST framework's nested error details to paths like `lines.0.amount`.

    An empty path means the request as a whole.
    """
    if isinstance(details, Mapping) and "message" in details and "code" in details:
        yield FieldError(path, str(details["code"]), str(details["message"]))
    elif isinstance(details, Mapping):
        for name, inner in details.items():
            yield from _field_errors(path if name == "non_field_errors" else f"{path}.{name}".lstrip("."), inner)
    else:
        for position, inner in enumerate(details):
            leaf = isinstance(inner, Mapping) and "message" in inner and "code" in inner
            yield from _field_errors(path if leaf else f"{path}.{position}".lstrip("."), inner)
