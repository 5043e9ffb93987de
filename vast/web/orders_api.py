"""Views that rent."""

from typing import Any, ClassVar
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.constants import CONNECT
from accounts.web.permissions import current_token, current_user, require_scope
from vast.create.bodies import Wanted, read_create, read_volume
from vast.create.bulk import create_each, launch_first
from vast.create.orders import create_from_ask, program_of
from vast.errors import InvalidArgs
from vast.models import Kind
from vast.numbers.numbers import number_of
from vast.search.offers import read_search
from vast.storage.volumes import volume_named_by
from vast.variables.variables import has_variables
from vast.web.base import VastView, body_of, success


def _sender(request: Request) -> dict[str, Any]:
    """Return who sends a create; whose variables an instance gets must be able to connect, since its programs read them."""
    token, renter = current_token(request), current_user(request)
    assert token is not None  # this API is opened by tokens alone
    if has_variables(renter):
        require_scope(request, CONNECT)
    return {"renter": renter, "credential": token.pk}


def _linked(request: Request, body: dict[str, Any]) -> tuple[UUID, ...]:
    """Return the volume that the body links; its programs can read it, so the token must be one that may connect."""
    wanted = read_volume(body)
    if wanted is None:
        return ()
    require_scope(request, CONNECT)
    return (volume_named_by(current_user(request), wanted),)


def _read_alone(body: dict[str, Any]) -> Wanted:
    """Read a create without a volume, which only one instance can have."""
    if read_volume(body) is not None:
        raise InvalidArgs("volume_info: Link a volume with `vastai create instance`.")
    return read_create(body)


class AskView(VastView):
    """Rent an offer that a search has shown."""

    scopes: ClassVar = {"PUT": "instances:write"}

    def put(self, request: Request, number: int) -> Response:
        body = body_of(request)
        wanted, linked = read_create(body), _linked(request, body)
        sender = _sender(request)
        program = program_of(sender["renter"], wanted)
        rented = create_from_ask(**sender, number=number, body=body, wanted=wanted, program=program, volume_ids=linked)
        return success(new_contract=number_of(Kind.INSTANCE, rented.pk))


class AsksView(VastView):
    """Rent several offers with the same body."""

    scopes: ClassVar = {"POST": "instances:write"}

    def post(self, request: Request) -> Response:
        body = body_of(request)
        results = create_each(**_sender(request), numbers=body.get("ids"), body=body, wanted=_read_alone(body))
        made = [each["new_contract"] for each in results if each["success"]]
        return Response({"success": len(made) == len(results), "new_contracts": made, "results": results})


class LaunchView(VastView):
    """Search and rent the first that can be had."""

    scopes: ClassVar = {"PUT": "instances:write"}

    def put(self, request: Request) -> Response:
        body = body_of(request)
        if not body.get("q"):
            raise InvalidArgs("q: Say what to search for.")
        search = read_search(body["q"])
        rented = launch_first(**_sender(request), search=search, body=body, wanted=_read_alone(body))
        return success(new_contract=number_of(Kind.INSTANCE, rented.pk))
