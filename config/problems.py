"""What an unknown address or a crash answers: a problem document to programs, a page to people."""

from django.http import HttpRequest, HttpResponse
from django.views import defaults

from common.api import problem_response
from common.errors import DomainError, Forbidden, InvalidInput, NotFound
from config.policy import PROGRAM_PREFIXES


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
    return _problem(request, InternalError()) or defaults.server_error(request)


def _problem(request: HttpRequest, error: DomainError) -> HttpResponse | None:
    return problem_response(error) if request.path_info.startswith(PROGRAM_PREFIXES) else None
