"""Views of an owner's hosts."""

from typing import ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.web.permissions import current_user
from vast.hosts import machines
from vast.web.base import VastView, body_of, success

_SCOPES = {"GET": "hosts:read", "PUT": "hosts:write", "DELETE": "hosts:write"}


class MachinesView(VastView):
    """All hosts of the owner."""

    scopes: ClassVar = _SCOPES

    def get(self, request: Request) -> Response:
        return success(machines=machines.machine_rows(current_user(request)))


class MachineView(VastView):
    """One host of the owner, in a list."""

    scopes: ClassVar = _SCOPES

    def get(self, request: Request, number: int) -> Response:
        return Response([machines.machine_row(current_user(request), number)])


class ListView(VastView):
    """List a host at these prices."""

    scopes: ClassVar = _SCOPES

    def put(self, request: Request) -> Response:
        machines.list_machine(owner=current_user(request), body=body_of(request))
        return success(msg="The host is listed.")


class UnlistView(VastView):
    """Take a host off the market."""

    scopes: ClassVar = _SCOPES

    def delete(self, request: Request, number: int) -> Response:
        machines.unlist_machine(owner=current_user(request), number=number)
        return success()


class MinimumView(VastView):
    """The lowest bid that a host accepts."""

    scopes: ClassVar = _SCOPES

    def put(self, request: Request, number: int) -> Response:
        machines.set_minimum(owner=current_user(request), number=number, price=body_of(request).get("price"))
        return success()
