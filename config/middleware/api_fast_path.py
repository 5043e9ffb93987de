"""Fast path for programs: agents and bearer tokens skip session, messages, locale and page headers."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import resolve
from django.utils import translation

from common.errors import DomainError
from common.http.origin import request_origin
from common.http.problems import problem_response

AGENT_PREFIX = "/agent/v1/"
API_PREFIX = "/api/v1/"
VAST_PREFIX = "/api/v0/"
API_PREFIXES = (API_PREFIX, VAST_PREFIX)
MAX_BODY_BYTES = 1_048_576
_LANGUAGE = "en"  # API errors are in English, whatever the browser asks for

Next = Callable[[HttpRequest], HttpResponseBase]


class BodyTooLarge(DomainError):
    code = "body_too_large"
    status = 413
    title = "The request body is too large"


class ApiFastPathMiddleware:
    """Middleware placed right after the security checks; API requests with a session take the usual path."""

    def __init__(self, get_response: Next) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with request_origin(request):
            return self._answer(request)

    def _answer(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        if path.startswith(AGENT_PREFIX):
            return _direct(request)
        if not path.startswith(API_PREFIXES):
            return self.get_response(request)
        return self._api(request)

    def _api(self, request: HttpRequest) -> HttpResponseBase:
        request.get_host()  # raises DisallowedHost, as CommonMiddleware would
        if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BODY_BYTES:
            return problem_response(BodyTooLarge(f"At most {MAX_BODY_BYTES} bytes."))
        in_session = "HTTP_AUTHORIZATION" not in request.META and settings.SESSION_COOKIE_NAME in request.COOKIES
        with translation.override(_LANGUAGE):
            response = self.get_response(request) if in_session else _direct(request)
        rate = getattr(request, "rate", None)
        if rate is not None:
            for name, value in rate.headers().items():
                response.headers[name] = value
        response.headers.setdefault("Cache-Control", "no-store")
        return response


def _direct(request: HttpRequest) -> HttpResponseBase:
    match = resolve(request.path_info)
    request.resolver_match = match
    response: HttpResponse = match.func(request, *match.args, **match.kwargs)
    if not getattr(response, "is_rendered", True):
        response = response.render()  # type: ignore[attr-defined] # REST framework's Response renders late
    if not response.streaming:
        response.headers.setdefault("Content-Length", str(len(response.content)))
    return response
