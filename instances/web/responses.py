"""An instance as the API answers with it."""

from typing import TYPE_CHECKING
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.constants import CONNECT
from accounts.web.idempotency import Work, reply_once
from accounts.web.permissions import asker, holds_scope, require_scope
from common import clock
from common.errors import NotFound
from common.ids import parse_public_id
from instances.core.selectors import instance_of
from instances.metering.costs import bill_of
from instances.models import Instance
from instances.web.serializers import INSTANCE_PREFIX, Shape, access_shape, instance_shape

if TYPE_CHECKING:
    from storage.models import Image


def may_connect(request: Request) -> bool:
    """Whether who asks gets what opens an instance."""
    return holds_scope(request, CONNECT)


def require_entry_for(request: Request, image: "Image") -> None:
    """Refuse a token that may not connect where an image that is not the market's own is to run beside kept data: its
    programs read what is mounted. Raises MissingScope."""
    if not image.official:
        require_scope(request, CONNECT)


def shown(instance: Instance, *, opens: bool = False) -> Shape:
    now = clock.now()
    return instance_shape(instance, bill_of(instance, now), now, opens=opens)


def reply_with_instance(request: Request, work: Work) -> Response:
    """As `reply_once`, for work that answers with an instance.

    What is remembered opens nothing, since the same request may come again by a token that may do less; who may connect
    gets the rest as it is now.
    """
    reply = reply_once(request, work)
    if may_connect(request) and "Dry-Run" not in reply:
        reply.data = {**reply.data, "access": {**reply.data["access"], **_ways_in(request, reply.data["id"])}}
    return reply


def _ways_in(request: Request, public_id: str) -> Shape:
    try:
        ways = access_shape(instance_of(asker(request), instance_id_of(public_id)), opens=True)
    except NotFound:
        return {}
    return {name: ways[name] for name in ("jupyter_url", "tensorboard_url")}


def instance_id_of(text: str) -> UUID:
    return parse_public_id(INSTANCE_PREFIX, text)
