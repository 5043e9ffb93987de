"""Console pages of access to an instance, its log, terminal, files and programs."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.shortcuts import render as render_page
from django.views.decorators.http import require_GET

from accounts.web.decorators import SignedInRequest, login_required_page
from common.errors import DomainError
from common.http.htmx import render
from common.ids import parse_public_id
from instances.core.selectors import instance_of
from instances.states import InstanceState
from instances.web.access.context import access_context, apply_access_form, log_context, parse_port, web_address
from instances.web.access.file_context import files_context


@login_required_page
def access(request: SignedInRequest, instance_id: str) -> HttpResponse:
    """Show the access page, or carry out a change that was posted.

    A new password is shown in this response only.
    """
    row_id, password, fault = parse_public_id("inst", instance_id), "", None
    if request.method == "POST":
        try:
            password = apply_access_form(request.user, row_id, request.POST)
        except DomainError as error:
            fault = error
    typed = request.POST if fault else {}
    context = access_context(request.user, row_id, typed) | {"password": password, "refused": fault}
    return render(request, page="instances/access.html", part="instances/_access.html", context=context)


@require_GET
@login_required_page
def logs(request: SignedInRequest, instance_id: str) -> HttpResponse:
    context = log_context(request.user, parse_public_id("inst", instance_id), request.GET)
    return render(request, page="instances/logs.html", part="instances/_log.html", context=context)


@require_GET
@login_required_page
def web(request: SignedInRequest, instance_id: str, port: int | None = None) -> HttpResponse:
    """Redirect to a program of the instance by a new link, which can be opened for some minutes."""
    port = parse_port(request.GET.get("port", "")) if port is None else port
    response = redirect(web_address(request.user, parse_public_id("inst", instance_id), port))
    response["Referrer-Policy"], response["Cache-Control"] = "no-referrer", "no-store"
    return response


@require_GET
@login_required_page
def files(request: SignedInRequest, instance_id: str) -> HttpResponse:
    """Show the file page.

    Its script talks to the instance through the relay; the part only says whether the instance runs.
    """
    context = files_context(request.user, parse_public_id("inst", instance_id))
    return render(request, page="instances/files.html", part="instances/_files_state.html", context=context)


@require_GET
@login_required_page
def terminal(request: SignedInRequest, instance_id: str) -> HttpResponse:
    instance = instance_of(request.user, parse_public_id("inst", instance_id))
    context = {"instance": instance, "is_running": instance.state == InstanceState.RUNNING}
    return render_page(request, "instances/terminal.html", context)
