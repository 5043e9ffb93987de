"""Pages of growing, moving and copying volumes."""

from typing import Final

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render as render_page
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from accounts.web.decorators import SignedInRequest, login_required_page
from common.errors import DomainError
from common.http.htmx import render
from common.ids import parse_public_id
from instances.volumes.transfers import copy_volume_to_host, move_volume_to_host
from instances.web.responses import redirect_to, refresh_or_redirect
from instances.web.volumes.transfer_context import size_context, transfer_context
from storage.volumes.grow import resize_volume
from storage.volumes.transfer_completion import cancel_volume_transfer

_SIZE: Final = {"page": "storage/volume_change.html", "part": "storage/_volume_size_form.html"}
_TRAVEL: Final = {"page": "storage/volume_change.html", "part": "storage/_volume_travel_form.html"}


@login_required_page
def volume_resize(request: SignedInRequest, volume_id: str) -> HttpResponse:
    """Show the size form, with `price` in the address its price, or grow the volume as posted.

    The posted order is bound to the price that was shown.
    """
    key = parse_public_id("vol", volume_id)
    if "price" in request.GET:
        return render_page(request, "storage/_volume_size_price.html", size_context(request.user, key, request.GET))
    context = size_context(request.user, key, request.POST if request.method == "POST" else None)
    form = context["form"]
    try:
        if form.is_valid():
            resize_volume(owner=request.user, volume_id=key, **form.order)
            messages.success(request, _("Resizing"))
            return redirect_to(request, "volumes")
    except DomainError as error:
        context["refused"] = error
    return render(request, **_SIZE, context=context)


@login_required_page
def volume_travel(request: SignedInRequest, volume_id: str) -> HttpResponse:
    """Show the transfer form, or move or copy as posted, at the price that was shown."""
    key = parse_public_id("vol", volume_id)
    context = transfer_context(request.user, key, request.POST if request.method == "POST" else None)
    form = context["form"]
    try:
        if form.is_valid():
            carry = copy_volume_to_host if form.copies else move_volume_to_host
            carry(owner=request.user, volume_id=key, **form.order)
            messages.success(request, _("Transfer started. The source stays unchanged until it's complete."))
            return redirect_to(request, "volumes")
    except DomainError as error:
        context["refused"] = error
    return render(request, **_TRAVEL, context=context)


@require_POST
@login_required_page
def volume_cancel_move(request: SignedInRequest, volume_id: str) -> HttpResponse:
    cancel_volume_transfer(owner=request.user, volume_id=parse_public_id("vol", volume_id))
    return refresh_or_redirect(request, "volumes")
