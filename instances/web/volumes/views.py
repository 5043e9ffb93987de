"""Console pages of volumes, snapshots and public data sets."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from accounts.models import User
from accounts.web.decorators import SignedInRequest, login_required_page
from common.errors import DomainError
from common.http.htmx import render
from common.ids import parse_public_id
from instances.volumes.attach import (
    attach_data_set,
    attach_volume,
    detach_data_set,
    detach_volume,
    restore_disk,
    snapshot_disk,
)
from instances.web.responses import redirect_to, refresh_or_redirect
from instances.web.volumes.context import (
    data_set_form,
    disks_context,
    public_context,
    snapshot_form,
    snapshots_context,
    volume_form,
    volumes_context,
)
from storage.states import SnapshotSource
from storage.volumes.data_sets import publish_snapshot, withdraw_data_set
from storage.volumes.selectors import snapshot_of
from storage.volumes.snapshots import delete_snapshot, restore_volume, snapshot_volume
from storage.volumes.volumes import create_volume, delete_volume


@login_required_page
def volumes(request: SignedInRequest) -> HttpResponse:
    """Show the user's volumes, or create the posted one."""
    if request.method == "POST":
        form = volume_form(request.user, request.POST, "")
        return _save_or_show_form(
            request, form, "volume", lambda: create_volume(owner=request.user, **form.order), "volumes"
        )
    context = volumes_context(request.user, request.GET.get("page"))
    return render(request, page="storage/volumes.html", part="storage/_volumes.html", context=context)


@login_required_page
def volume_new(request: SignedInRequest) -> HttpResponse:
    """Show the form of a volume, as a page or as part of a dialog."""
    return _form(request, "volume", {"form": volume_form(request.user, None, request.GET.get("snapshot", ""))})


@require_POST
@login_required_page
def volume_delete(request: SignedInRequest, volume_id: str) -> HttpResponse:
    delete_volume(owner=request.user, volume_id=parse_public_id("vol", volume_id))
    return refresh_or_redirect(request, "volumes")


@require_POST
@login_required_page
def volume_attach(request: SignedInRequest, volume_id: str) -> HttpResponse:
    instance_id = parse_public_id("inst", request.POST.get("instance", ""))
    attach_volume(renter=request.user, volume_id=parse_public_id("vol", volume_id), instance_id=instance_id)
    return refresh_or_redirect(request, "volumes")


@require_POST
@login_required_page
def volume_detach(request: SignedInRequest, volume_id: str) -> HttpResponse:
    detach_volume(renter=request.user, volume_id=parse_public_id("vol", volume_id))
    return refresh_or_redirect(request, "volumes")


@login_required_page
def snapshots(request: SignedInRequest) -> HttpResponse:
    """Show the user's snapshots, or take the posted one."""
    if request.method == "POST":
        form = snapshot_form(request.user, request.POST, "")
        return _save_or_show_form(
            request, form, "snapshot", lambda: _take_snapshot(request.user, form.cleaned_data), "snapshots"
        )
    context = snapshots_context(request.user, request.GET.get("page"))
    return render(request, page="storage/snapshots.html", part="storage/_snapshots.html", context=context)


@login_required_page
def snapshot_new(request: SignedInRequest) -> HttpResponse:
    return _form(request, "snapshot", {"form": snapshot_form(request.user, None, request.GET.get("source", ""))})


@require_POST
@login_required_page
def snapshot_delete(request: SignedInRequest, snapshot_id: str) -> HttpResponse:
    delete_snapshot(owner=request.user, snapshot_id=parse_public_id("snap", snapshot_id))
    return refresh_or_redirect(request, "snapshots")


@require_POST
@login_required_page
def snapshot_restore(request: SignedInRequest, snapshot_id: str) -> HttpResponse:
    row_id = parse_public_id("snap", snapshot_id)
    if snapshot_of(request.user.pk, row_id).source_kind == SnapshotSource.VOLUME:
        restore_volume(owner=request.user, snapshot_id=row_id)
    else:
        restore_disk(renter=request.user, snapshot_id=row_id)
    return refresh_or_redirect(request, "snapshots")


def public_data(request: HttpRequest) -> HttpResponse:
    """Show the public data sets; it needs no login."""
    user = request.user if isinstance(request.user, User) else None
    return render(request, page="storage/public.html", part="storage/_public.html", context=public_context(user))


@login_required_page
def data_set_new(request: SignedInRequest) -> HttpResponse:
    """Show the form for staff, or publish a snapshot as posted."""
    form = data_set_form(request.user, request.POST or None)
    if request.method == "POST":
        return _save_or_show_form(
            request, form, "set", lambda: publish_snapshot(staff=request.user, **form.order), "public_data"
        )
    return _form(request, "set", {"form": form})


@require_POST
@login_required_page
def data_set_withdraw(request: SignedInRequest, slug: str) -> HttpResponse:
    withdraw_data_set(staff=request.user, slug=slug)
    return refresh_or_redirect(request, "public_data")


@require_POST
@login_required_page
def data_set_attach(request: SignedInRequest, slug: str) -> HttpResponse:
    instance_id = parse_public_id("inst", request.POST.get("instance", ""))
    attach_data_set(renter=request.user, slug=slug, instance_id=instance_id)
    return refresh_or_redirect(request, "public_data")


@require_POST
@login_required_page
def data_set_detach(request: SignedInRequest, slug: str) -> HttpResponse:
    instance_id = parse_public_id("inst", request.POST.get("instance", ""))
    detach_data_set(renter=request.user, slug=slug, instance_id=instance_id)
    return refresh_or_redirect(request, "public_data")


@login_required_page
def instance_disks(request: SignedInRequest, instance_id: str) -> HttpResponse:
    """Show the disk, volumes and data sets of an instance, as part of its page or alone."""
    context = disks_context(request.user, parse_public_id("inst", instance_id))
    return render(request, page="storage/instance.html", part="storage/_instance.html", context=context)


def _take_snapshot(user: User, data: dict[str, Any]) -> object:
    source, name = data["source"], data["name"]
    if source.startswith("vol_"):
        return snapshot_volume(owner=user, volume_id=parse_public_id("vol", source), name=name)
    return snapshot_disk(renter=user, instance_id=parse_public_id("inst", source), name=name)


def _form(request: SignedInRequest, kind: str, context: dict[str, Any]) -> HttpResponse:
    return render(request, page="storage/new.html", part=f"storage/_{kind}_form.html", context={**context, "kind": kind})


def _save_or_show_form(
    request: SignedInRequest, form: Any, kind: str, order: Callable[[], object], then: str
) -> HttpResponse:
    """Carry out a valid order and go to `then`; errors are shown in the unchanged form."""
    fault = None
    try:
        if form.is_valid():
            order()
            return redirect_to(request, then)
    except DomainError as error:
        fault = error
    return _form(request, kind, {"form": form, "refused": fault})
