"""Console page with a terminal in an instance."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.web.decorators import SignedInRequest, signed_in
from common.ids import parse_public_id
from instances.core.selectors import instance_of
from instances.states import InstanceState


@require_GET
@signed_in
def terminal(request: SignedInRequest, instance_id: str) -> HttpResponse:
    instance = instance_of(request.user, parse_public_id("inst", instance_id))
    context = {"instance": instance, "is_running": instance.state == InstanceState.RUNNING}
    return render(request, "instances/terminal.html", context)
