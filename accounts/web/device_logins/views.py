"""The page on which a person allows a program to log in."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from accounts.device_logins.logins import answer_login, waiting_login
from accounts.errors import DeviceUnknown, TooMany
from accounts.web.decorators import SignedInRequest, login_required_page
from accounts.web.users.forms import SCOPE_LABELS
from common.errors import TooOften


@login_required_page
def device(request: SignedInRequest) -> HttpResponse:
    """Ask for the code, then show what the program wants; a POST answers."""
    code = (request.POST if request.method == "POST" else request.GET).get("code", "").strip()[:20]
    login, refused = None, None
    try:
        if "answer" in request.POST:
            return _answer(request, code)
        login = waiting_login(user=request.user, user_code=code) if code else None
    except (DeviceUnknown, TooMany, TooOften) as error:
        refused = error
    context = {"code": code, "login": login, "refused": refused, "words": SCOPE_LABELS}
    return render(request, "accounts/device.html", context, status=refused.status if refused else 200)


def _answer(request: SignedInRequest, code: str) -> HttpResponse:
    allow = request.POST["answer"] == "allow"
    login = answer_login(user=request.user, user_code=code, allow=allow)
    done = _("%(client)s is authorized. You can close this page.") if allow else _("The login of %(client)s was denied.")
    messages.success(request, done % {"client": login.client})
    return redirect("tokens")
