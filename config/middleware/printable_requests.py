"""Middleware that refuses characters which cannot be stored, in URLs, forms and headers."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.translation import gettext_lazy as _

from common.errors import InvalidInput
from common.http.bodies import is_storable, unstorable
from common.http.problems import problem_response
from config.constants import PROGRAM_PREFIXES
from config.error_pages import toast
from config.failure_messages import FailureMessage
from config.front.refusals import Refusal

_WORDS: Final = FailureMessage(
    _("Your text contains a character that can't be stored."),
    _("Nothing was changed. Remove the character (U+0000, usually from copied text) and try again."),
)
_REFUSAL: Final = Refusal(InvalidInput(), _WORDS.title, _WORDS.advice)
_FORMS: Final = ("application/x-www-form-urlencoded", "multipart/form-data")


class StorableText:
    """Middleware placed before everything that reads a request; common/http/bodies.py checks JSON bodies."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        _remove_cookies(request)
        field = next(_unstorable_parts(request), None)
        return self.get_response(request) if field is None else _refuse(request, unstorable(field))


def _remove_cookies(request: HttpRequest) -> None:
    """Drop cookies that cannot be stored instead of refusing the request.

    A browser could not get rid of such a cookie. None of ours has such a value.
    """
    for name in [name for name, value in request.COOKIES.items() if not is_storable(value)]:
        del request.COOKIES[name]


def _unstorable_parts(request: HttpRequest) -> Iterator[str]:
    """Yield the names of the parts that cannot be stored."""
    if not is_storable(request.path_info):
        yield "path"
    if "%00" in request.META.get("QUERY_STRING", ""):
        yield from _unstorable_fields(request.GET.lists())
    for name, value in request.META.items():
        if name.startswith("HTTP_") and name != "HTTP_COOKIE" and not is_storable(value):
            yield name.removeprefix("HTTP_").replace("_", "-").title()
    if request.content_type in _FORMS and not request.path_info.startswith(PROGRAM_PREFIXES):
        yield from _unstorable_fields(request.POST.lists())


def _unstorable_fields(fields: Iterable[tuple[str, list[str]]]) -> Iterator[str]:
    return (name for name, values in fields if not all(is_storable(text) for text in (name, *values)))


def _refuse(request: HttpRequest, error: InvalidInput) -> HttpResponse:
    if request.path_info.startswith(PROGRAM_PREFIXES):
        return problem_response(error)
    language = translation.get_language_from_request(request)
    if "HX-Request" in request.headers:
        with translation.override(language):
            return toast(request, _WORDS, status=error.status)
    page = _REFUSAL.page(language)
    return HttpResponse(page.body, status=page.status, headers=dict(page.headers))
