"""Object-storage pages of the console."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.shortcuts import render as render_page
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.web.decorators import SignedInRequest, login_required_page
from common.errors import DomainError
from common.http.htmx import render
from common.ids import parse_public_id
from instances.object_sync.schedules import remove_schedule, start_or_schedule
from instances.retention.archive import remove_archive_connection, set_archive, set_archive_default
from instances.web.object_sync.context import connection_form, runs_context, storage_context, sync_form
from instances.web.object_sync.forms import LoginForm
from instances.web.object_sync.request_parsing import parse_connection_id
from instances.web.responses import refresh_or_redirect
from storage.object_sync.connections import change_login, check_connection, check_connection_with_key, save_connection
from storage.object_sync.selectors import connection_of
from storage.object_sync.syncs import cancel_sync


@login_required_page
def object_storage(request: SignedInRequest) -> HttpResponse:
    context = storage_context(request.user, request.GET.get("page"))
    return render(request, page="storage/object_storage.html", part="storage/_syncs.html", context=context)


@login_required_page
def sync_runs(request: SignedInRequest) -> HttpResponse:
    """Show syncs and schedules, as the part of the page that htmx refreshes."""
    return render_page(request, "storage/_syncs.html", runs_context(request.user, request.GET.get("page")))


@login_required_page
def connection_new(request: SignedInRequest) -> HttpResponse:
    form, fault = connection_form(request.POST or None), None
    try:
        if request.method == "POST" and form.is_valid():
            tried = check_connection(**form.order)
            saved = save_connection(owner=request.user, name=form.cleaned_data["name"], tried=tried)
            messages.success(request, _("“%(name)s” connected") % {"name": saved.name})
            return redirect("object_storage")
    except DomainError as error:
        fault = error
    return _form(request, "connection", {"form": form, "refused": fault})


@login_required_page
def connection_login(request: SignedInRequest, connection_id: str) -> HttpResponse:
    row_id, form, fault = parse_public_id("conn", connection_id), LoginForm(request.POST or None), None
    connection = connection_of(request.user.pk, row_id)
    try:
        if request.method == "POST" and form.is_valid():
            tried = check_connection_with_key(owner=request.user, connection_id=row_id, **form.cleaned_data)
            change_login(owner=request.user, connection_id=row_id, tried=tried)
            messages.success(request, _("“%(name)s” connected") % {"name": connection.name})
            return redirect("object_storage")
    except DomainError as error:
        fault = error
    return _form(request, "login", {"form": form, "refused": fault, "connection": connection})


@require_POST
@login_required_page
def connection_remove(request: SignedInRequest, connection_id: str) -> HttpResponse:
    remove_archive_connection(owner=request.user, connection_id=parse_public_id("conn", connection_id))
    messages.success(request, _("Connection deleted. Files in the bucket are kept."))
    return redirect("object_storage")


@login_required_page
def sync_new(request: SignedInRequest) -> HttpResponse:
    form, fault = sync_form(request.user, request.POST or None, request.GET.dict()), None
    try:
        if request.method == "POST" and form.is_valid():
            start_or_schedule(owner=request.user, order=form.order, rhythm=form.rhythm)
            messages.success(request, _("Schedule saved") if form.rhythm else _("Sync started"))
            return redirect("object_storage")
    except DomainError as error:
        fault = error
    return _form(request, "sync", {"form": form, "refused": fault})


@require_POST
@login_required_page
def sync_cancel(request: SignedInRequest, sync_id: str) -> HttpResponse:
    cancel_sync(owner=request.user, sync_id=parse_public_id("sync", sync_id))
    return refresh_or_redirect(request, "object_storage")


@require_POST
@login_required_page
def schedule_remove(request: SignedInRequest, schedule_id: str) -> HttpResponse:
    remove_schedule(owner=request.user, schedule_id=parse_public_id("plan", schedule_id))
    return refresh_or_redirect(request, "object_storage")


@require_POST
@login_required_page
def archive_default_set(request: SignedInRequest) -> HttpResponse:
    set_archive_default(renter=request.user, connection_id=parse_connection_id(request.POST.get("connection")))
    messages.success(request, _("Saved."))
    return redirect("object_storage")


@require_POST
@login_required_page
def archive_set(request: SignedInRequest, instance_id: str) -> HttpResponse:
    """Set where the instance is archived; `archive` is `account`, `off`, or a connection's id."""
    wanted = request.POST.get("archive", "account")
    choice = wanted if wanted in ("account", "off") else "on"
    place = parse_connection_id(wanted) if choice == "on" else None
    set_archive(renter=request.user, instance_id=parse_public_id("inst", instance_id), choice=choice, connection_id=place)
    return refresh_or_redirect(request, "instance", instance_id)


def _form(request: SignedInRequest, kind: str, context: dict[str, Any]) -> HttpResponse:
    fault = context["refused"]
    status = fault.status if fault else 400 if request.method == "POST" else 200
    return render_page(request, "storage/sync_form.html", {**context, "kind": kind}, status=status)
