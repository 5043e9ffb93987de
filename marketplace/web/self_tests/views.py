"""View behind the button that requests a self-test."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.web.decorators import SignedInRequest, login_required_page
from common.ids import parse_public_id
from marketplace.errors import HostNotOnline
from marketplace.self_tests.services import request_self_test


@require_POST
@login_required_page
def host_self_test(request: SignedInRequest, host_id: str) -> HttpResponse:
    try:
        request_self_test(actor_id=request.user.pk, host_id=parse_public_id("host", host_id))
    except HostNotOnline:
        messages.error(request, _("This host's agent isn't reporting. Start it first."))
    else:
        messages.success(request, _("Self-test requested. The result appears here within a few minutes."))
    return redirect("my_hosts")
