"""View behind the button that revokes the key of a host's agent."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from accounts.web.decorators import SignedInRequest, signed_in
from common.ids import parse_public_id
from marketplace.hosts.agent_keys import revoke_own_agent


@require_POST
@signed_in
def host_revoke_agent(request: SignedInRequest, host_id: str) -> HttpResponse:
    revoke_own_agent(actor_id=request.user.pk, host_id=parse_public_id("host", host_id))
    return redirect("my_hosts")
