"""Pages of re-imaging and resizing."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render as render_page
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.web.decorators import SignedInRequest, login_required_page
from common.errors import DomainError
from common.http.htmx import render
from common.ids import parse_public_id
from instances.lifecycle.reimage import cancel_reimage, reimage_instance
from instances.lifecycle.resize import resize_instance
from instances.web.lifecycle.context import reimage_context, resize_context
from instances.web.responses import redirect_to, refresh_or_redirect

_REIMAGE = {"page": "instances/reimage.html", "part": "instances/_reimage_form.html"}
_RESIZE = {"page": "instances/resize.html", "part": "instances/_resize_form.html"}


@login_required_page
def instance_reimage(request: SignedInRequest, instance_id: str) -> HttpResponse:
    """Show the images to choose from, or re-image with the posted one."""
    key = parse_public_id("inst", instance_id)
    context = reimage_context(request.user, key, request.POST if request.method == "POST" else None)
    form = context["form"]
    try:
        if form.is_valid():
            order = {"image": form.cleaned_data["image"], "launch": form.launch_changes}
            reimage_instance(renter=request.user, instance_id=key, **order)
            messages.success(request, _("Changing the image. /data is kept."))
            return redirect_to(request, "instance", instance_id)
    except DomainError as error:
        context["refused"] = error
    return render(request, **_REIMAGE, context=context)


@require_POST
@login_required_page
def instance_keep_root(request: SignedInRequest, instance_id: str) -> HttpResponse:
    cancel_reimage(renter=request.user, instance_id=parse_public_id("inst", instance_id))
    return refresh_or_redirect(request, "instance", instance_id)


@login_required_page
def instance_resize(request: SignedInRequest, instance_id: str) -> HttpResponse:
    """Show the resize form, with `price` in the address its price, or resize as posted.

    The posted order is bound to the prices that were shown.
    """
    key = parse_public_id("inst", instance_id)
    if "price" in request.GET:
        return render_page(request, "instances/_resize_price.html", resize_context(request.user, key, request.GET))
    context = resize_context(request.user, key, request.POST if request.method == "POST" else None)
    form = context["form"]
    try:
        if form.is_valid() and "refused" not in context:
            resize_instance(renter=request.user, instance_id=key, **form.size, **form.limits)
            messages.success(request, _("Resizing"))
            return redirect_to(request, "instance", instance_id)
    except DomainError as error:
        context["refused"] = error
    return render(request, **_RESIZE, context=context)
