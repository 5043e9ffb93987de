"""Decorator for pages of signed-in users; inside them the request always has a User."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Concatenate, ParamSpec, cast
from urllib.parse import urlencode

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from accounts.models import User
from common.http.origin import page_from_header

P = ParamSpec("P")


class SignedInRequest(HttpRequest):
    """Request of a user who is signed in."""

    user: User


PersonalView = Callable[Concatenate[SignedInRequest, P], HttpResponse]
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def login_required_page(view: PersonalView[P]) -> View[P]:
    """Redirect anonymous visitors to the log-in page and back.

    For a part requested by htmx, the whole page is redirected.
    """

    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if request.user.is_authenticated:
            return view(cast(SignedInRequest, request), *args, **kwargs)
        if not request.htmx:  # type: ignore[attr-defined]  # set by HtmxMiddleware
            return redirect_to_login(request.get_full_path())
        page = page_from_header(request, "HX-Current-URL")
        back = urlencode({"next": page._replace(scheme="", netloc="").geturl()}, safe="/")
        return HttpResponse(status=204, headers={"HX-Redirect": f"{reverse('account_login')}?{back}"})

    update_wrapper(guarded, view)
    return guarded
