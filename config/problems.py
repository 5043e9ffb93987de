"""Handlers of unknown addresses and errors: a problem document for programs, a page for people."""

import sys

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language
from django.views import defaults

from common.errors import Busy, DomainError, Forbidden, InvalidInput, NotFound, TooOften
from common.http.problems import add_retry_after, is_transient, problem_response
from config.constants import PROGRAM_PREFIXES
from config.error_pages import fault_of, toast
from config.front.refusals import BUSY

_MINUTE_S = 60


class InternalError(DomainError):
    code = "internal_error"
    status = 500
    title = "Something went wrong on our side"


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _problem(request, InvalidInput()) or defaults.bad_request(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _problem(request, Forbidden()) or defaults.permission_denied(request, exception)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _problem(request, NotFound("There is nothing at this address.")) or defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer an unhandled error of a view, a middleware or a template, while it is being handled."""
    if is_transient(sys.exc_info()[1]):
        return _busy(request)
    return _problem(request, InternalError()) or defaults.server_error(request)


def too_many_requests(request: HttpRequest) -> HttpResponse:
    """Answer a request beyond one of allauth's limits, which are per minute, with `Retry-After`."""
    error = TooOften(wait=_MINUTE_S)
    page = render(request, "fault.html", {"fault": fault_of(error)}, status=error.status)
    return add_retry_after(page, error)


def _busy(request: HttpRequest) -> HttpResponse:
    """Answer without the database, which every other page queries."""
    answer = _problem(request, Busy())
    if answer is None and "HX-Request" in request.headers:
        answer = toast(request, fault_of(Busy()), status=Busy.status)
    if answer is None:
        answer = HttpResponse(BUSY.page(get_language() or "en").body, status=Busy.status)
    for name, value in BUSY.headers:
        answer.headers[name] = value
    return answer


def _problem(request: HttpRequest, error: DomainError) -> HttpResponse | None:
    return problem_response(error) if request.path_info.startswith(PROGRAM_PREFIXES) else None
