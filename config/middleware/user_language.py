"""Middleware that knows people: apart from `page_headers`, which the settings import before any model can be."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.translation import get_language

from accounts.models import User
from accounts.users.profile import note_language
from config.middleware.page_headers import API_PREFIX, PANEL_PREFIXES


class RememberLanguage:
    """Notes the language in which a signed-in person reads, when it changes: mail is written in it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        person = getattr(request, "_cached_user", None)  # a request that asked for nobody is not made to
        is_page = request.method == "GET" and not request.path_info.startswith((API_PREFIX, *PANEL_PREFIXES))
        if is_page and isinstance(person, User) and person.language != (language := get_language() or "en"):
            note_language(user_id=person.pk, language=language)
        return response
