"""API responses that contain an instance, and responses to forms of pages."""

from typing import TYPE_CHECKING
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.constants import CONNECT
from accounts.web.idempotency import Work, idempotent_response
from accounts.web.permissions import current_user, holds_scope, require_scope
from common import clock
from common.errors import NotFound
from common.ids import parse_public_id
from common.json import as_plain
from instances.core.selectors import instance_of
from instances.metering.costs import cost_of
from instances.models import Instance, Quote
from instances.web.access.serializers import access_resource
from instances.web.resources import INSTANCE_PREFIX, InstanceOut, instance_resource

if TYPE_CHECKING:
    from storage.models import Image


def may_connect(request: Request) -> bool:
    """Return whether the token may receive what opens an instance, such as tokens of its programs."""
    return holds_scope(request, CONNECT)


def require_connect_scope_for(request: Request, image: "Image") -> None:
    """Raise MissingScope for a token that may not connect, if the image is not the market's own.

    Programs of such an image run beside kept data and can read what is mounted.
    """
    if not image.official:
        require_scope(request, CONNECT)


def require_connect_scope_to_mount(request: Request, what: Instance | Quote) -> None:
    """Raise MissingScope for a token that may not connect, if programs that are not the market's own would read volumes."""
    require_connect_scope_for(request, what.image)
    require_connect_scope_to_run(request, what.launch_id)


def require_connect_scope_to_run(request: Request, launch: object) -> None:
    """Raise MissingScope for a token that may not connect, if there are launch settings.

    A command and a start script can read the kept data, and the secrets that are stored already.
    """
    if launch:
        require_scope(request, CONNECT)


def instance_response(instance: Instance, *, opens: bool = False) -> InstanceOut:
    now = clock.now()
    return instance_resource(instance, cost_of(instance, now), now, opens=opens)


def idempotent_instance_response(request: Request, work: Work) -> Response:
    """Do the work once for each idempotency key, and return the instance.

    The stored response contains nothing that opens the instance, since a token with fewer scopes may repeat the
    request. A token that may connect gets these parts as they are now.
    """
    reply = idempotent_response(request, work)
    if may_connect(request) and "Dry-Run" not in reply:
        body = as_plain(reply.data)
        reply.data = {**body, "access": {**body["access"], **_access_links(request, body["id"])}}
    return reply


def _access_links(request: Request, public_id: str) -> dict[str, str | None]:
    try:
        access = access_resource(instance_of(current_user(request), instance_id_of(public_id)), opens=True)
    except NotFound:
        return {}
    return {"jupyter_url": access.jupyter_url, "tensorboard_url": access.tensorboard_url}


def instance_id_of(text: str) -> UUID:
    return parse_public_id(INSTANCE_PREFIX, text)


def refresh_or_redirect(request: HttpRequest, page: str, *where: str) -> HttpResponse:
    """Make htmx refresh the live parts of the page, or redirect a browser without it."""
    if request.htmx:  # type: ignore[attr-defined]  # set by HtmxMiddleware
        return HttpResponse(status=204, headers={"HX-Trigger": "changed"})
    return redirect(page, *where)


def redirect_to(request: HttpRequest, page: str, *where: str) -> HttpResponse:
    """Make htmx load another page, or redirect a browser without it."""
    if request.htmx:  # type: ignore[attr-defined]  # set by HtmxMiddleware
        return HttpResponse(status=204, headers={"HX-Redirect": reverse(page, args=where)})
    return redirect(page, *where)
