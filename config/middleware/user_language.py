"""Middleware that needs models; `page_headers` cannot, since the settings import it before them."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.translation import get_language

from accounts.models import User
from accounts.users.profile import record_language
from config.middleware.page_headers import API_PREFIX, PANEL_PREFIXES


class UserLanguageMiddleware:
    """Stores the language that a signed-in user reads in, when it changes: mails are written in it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        person = getattr(request, "_cached_user", None)  # a request that did not need the user should not load it
        is_page = request.method == "GET" and not request.path_info.startswith((API_PREFIX, *PANEL_PREFIXES))
        if is_page and isinstance(person, User) and person.language != (language := get_language() or "en"):
            record_language(user_id=person.pk, language=language)
        return response
