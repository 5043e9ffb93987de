"""Page action that saves an instance as an image."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.web.decorators import SignedInRequest, login_required_page
from common.ids import parse_public_id
from instances.lifecycle.save_image import save_image_of


@require_POST
@login_required_page
def instance_save_image(request: SignedInRequest, instance_id: str) -> HttpResponse:
    saved = save_image_of(
        renter=request.user,
        instance_id=parse_public_id("inst", instance_id),
        name=request.POST.get("name", ""),
        description=request.POST.get("description", ""),
    )
    messages.success(request, _("Saving “%(name)s”. It will appear in My images.") % {"name": saved.title})
    return redirect("images")
