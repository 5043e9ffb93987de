"""Image pages of the console: own images, the community list, private registries."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.shortcuts import render as render_page
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.web.decorators import SignedInRequest, login_required_page
from common.errors import DomainError
from common.http.htmx import render
from common.ids import parse_public_id
from storage.images.credentials import check_registry_login, remove_registry, save_registry
from storage.images.resolve import add_image, examine_image, remove_image
from storage.images.selectors import PREFIX, REGISTRY_PREFIX
from storage.images.sharing import share_image, unshare_image
from storage.web.volumes.context import community_context, images_context
from storage.web.volumes.forms import ImageForm, RegistryForm, ShareForm


@login_required_page
def images(request: SignedInRequest) -> HttpResponse:
    context = images_context(request.user, page=request.GET.get("page"))
    return render(request, page="storage/images.html", part="storage/_images.html", context=context)


def community(request: HttpRequest) -> HttpResponse:
    """Show the community list; it needs no login."""
    context = community_context(words=request.GET.get("q", "")[:100], page=request.GET.get("page"))
    return render(request, page="storage/community.html", part="storage/_community.html", context=context)


@require_POST
@login_required_page
def image_add(request: SignedInRequest) -> HttpResponse:
    form, fault = ImageForm(request.POST), None
    try:
        if form.is_valid():
            found = examine_image(owner=request.user, name=form.cleaned_data["name"])
            added = add_image(owner=request.user, examined=found, title=form.cleaned_data["title"])
            messages.success(request, _("“%(name)s” added") % {"name": added.title})
            return redirect("images")
    except DomainError as error:
        fault = error
    context = images_context(request.user, page=None) | {"form": form, "refused": fault}
    return render_page(request, "storage/images.html", context, status=fault.status if fault else 400)


@require_POST
@login_required_page
def registry_add(request: SignedInRequest) -> HttpResponse:
    form, fault = RegistryForm(request.POST), None
    try:
        if form.is_valid():
            wanted = form.cleaned_data | {"host": check_registry_login(**form.cleaned_data)}
            saved = save_registry(owner=request.user, **wanted)
            messages.success(request, _("Login for %(registry)s saved") % {"registry": saved.host})
            return redirect("images")
    except DomainError as error:
        fault = error
    context = images_context(request.user, page=None) | {"registry_form": form, "registry_refused": fault}
    return render_page(request, "storage/images.html", context, status=fault.status if fault else 400)


@require_POST
@login_required_page
def registry_remove(request: SignedInRequest, registry_id: str) -> HttpResponse:
    remove_registry(owner=request.user, registry_id=parse_public_id(REGISTRY_PREFIX, registry_id))
    messages.success(request, _("Login deleted"))
    return redirect("images")


@require_POST
@login_required_page
def image_remove(request: SignedInRequest, image_id: str) -> HttpResponse:
    remove_image(owner=request.user, image_id=parse_public_id(PREFIX, image_id))
    messages.success(request, _("Image deleted. Running instances continue."))
    return redirect("images")


@require_POST
@login_required_page
def image_share(request: SignedInRequest, image_id: str) -> HttpResponse:
    form = ShareForm(request.POST)
    if form.is_valid():
        shared = share_image(owner=request.user, image_id=parse_public_id(PREFIX, image_id), **form.cleaned_data)
        messages.success(request, _("Shared with everyone as version %(version)s") % {"version": shared.version})
    else:
        messages.error(request, _("Enter a name with letters, digits and hyphens."))
    return redirect("images")


@require_POST
@login_required_page
def image_unshare(request: SignedInRequest, image_id: str) -> HttpResponse:
    unshare_image(owner=request.user, image_id=parse_public_id(PREFIX, image_id))
    messages.success(request, _("Version unshared"))
    return redirect("images")
