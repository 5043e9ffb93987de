"""Page of an instance's launch settings."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.shortcuts import render as render_page
from django.utils.translation import gettext as _

from accounts.web.decorators import SignedInRequest, login_required_page
from common.errors import DomainError
from common.ids import parse_public_id
from instances.core.selectors import instance_of
from instances.lifecycle.launch import apply_launch
from instances.web.launch.forms import LaunchForm


@login_required_page
def instance_launch(request: SignedInRequest, instance_id: str) -> HttpResponse:
    """Show the launch settings, or change them as posted: from the next start on, or with a restart at once."""
    instance = instance_of(request.user, parse_public_id("inst", instance_id))
    form, fault = LaunchForm(request.POST if request.method == "POST" else None, instance=instance), None
    if form.is_valid():
        try:
            apply_launch(renter=request.user, instance_id=instance.pk, changes=form.launch_changes)
            messages.success(request, _("Environment and start command saved"))
            return redirect("instance", instance_id)
        except DomainError as error:
            fault = error
    context = {"instance": instance, "form": form, "refused": fault}
    return render_page(request, "instances/launch.html", context, status=fault.status if fault else 200)
