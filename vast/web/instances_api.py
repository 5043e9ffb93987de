"""Views of instances."""

from collections.abc import Callable, Iterable
from typing import ClassVar

from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.constants import CONNECT, INSTANCE_SCOPES
from accounts.web.permissions import current_user
from common.errors import DomainError
from instances.web.responses import require_connect_scope_to_run
from vast.contracts.bids import set_bid
from vast.contracts.changes import STATES, destroy, reboot, set_label, set_state
from vast.contracts.commands import read_signed_result, run_command
from vast.contracts.images import recycle, update
from vast.contracts.listing import all_rows, filter_values, one_row, read_list_query, row_page
from vast.contracts.logs import read_signed, request_log
from vast.create.bodies import read_label
from vast.errors import InvalidArgs
from vast.web.base import VastView, body_of, may_connect, success
from vast.web.numbers_in_bodies import read_numbers

_SCOPES = {**INSTANCE_SCOPES, "PUT": "instances:write"}


class InstancePageView(VastView):
    """A page of the renter's instances, as clients ask for it below /api/v1."""

    scopes: ClassVar = _SCOPES

    def get(self, request: Request) -> Response:
        query = read_list_query(request.query_params)
        return Response(row_page(current_user(request), query, opens=may_connect(request)))


class InstancesView(VastView):
    """All instances of the renter; start, stop or destroy several."""

    scopes: ClassVar = _SCOPES

    def get(self, request: Request) -> Response:
        return success(instances=all_rows(current_user(request), opens=may_connect(request)))

    def put(self, request: Request) -> Response:
        body, renter = body_of(request), current_user(request)
        if body.get("state") not in STATES:
            raise InvalidArgs("state: Send running or stopped.")
        return _each(read_numbers(body, "ids"), lambda number: set_state(renter=renter, number=number, state=body["state"]))

    def delete(self, request: Request) -> Response:
        renter = current_user(request)
        return _each(read_numbers(body_of(request), "instance_ids"), lambda number: destroy(renter=renter, number=number))


def _each(numbers: Iterable[int], change: Callable[[int], object]) -> Response:
    """Change each of these instances, whatever becomes of the others; raise the first error when all have been tried."""
    failures: dict[int, DomainError] = {}
    for number in numbers:
        try:
            change(number)
        except DomainError as error:
            failures[number] = error
    if failures:
        first = next(iter(failures.values()))
        first.detail = " ".join(f"{number}: {each.detail}" for number, each in failures.items())
        raise first
    return success()


class InstanceFiltersView(VastView):
    """Values that the list can be filtered by."""

    scopes: ClassVar = _SCOPES

    def get(self, request: Request) -> Response:
        return Response({"filters": filter_values(current_user(request))})


class InstanceView(VastView):
    """One instance: show, start, stop, label, destroy."""

    scopes: ClassVar = _SCOPES

    def get(self, request: Request, number: int) -> Response:
        return Response({"instances": one_row(current_user(request), number, opens=may_connect(request))})

    def put(self, request: Request, number: int) -> Response:
        body = body_of(request)
        if "label" in body:
            set_label(renter=current_user(request), number=number, label=read_label(body))
        if "state" in body or "label" not in body:
            set_state(renter=current_user(request), number=number, state=body.get("state"))
        return success()

    def delete(self, request: Request, number: int) -> Response:
        destroy(renter=current_user(request), number=number)
        return success()


class RebootView(VastView):
    """Restart the container."""

    scopes: ClassVar = _SCOPES

    def put(self, request: Request, number: int) -> Response:
        reboot(renter=current_user(request), number=number)
        return success()


class RecycleView(VastView):
    """Make the root anew from its image."""

    scopes: ClassVar = _SCOPES

    def put(self, request: Request, number: int) -> Response:
        recycle(renter=current_user(request), number=number)
        return success()


class UpdateView(VastView):
    """Make the root anew from another image or with other settings, which programs in it can use to read kept data."""

    scopes: ClassVar = _SCOPES

    def put(self, request: Request, number: int) -> Response:
        body = body_of(request)
        require_connect_scope_to_run(request, body)
        update(renter=current_user(request), number=number, body=body)
        return success()


class BidView(VastView):
    """Change the bid."""

    scopes: ClassVar = _SCOPES

    def put(self, request: Request, number: int) -> Response:
        set_bid(renter=current_user(request), number=number, price=body_of(request).get("price"))
        return success()


class LogsView(VastView):
    """Ask for the log; the address in the response is to be fetched until it answers with 200."""

    scopes: ClassVar = {"PUT": "instances:read"}

    def put(self, request: Request, number: int) -> Response:
        signed = request_log(renter=current_user(request), number=number, body=body_of(request))
        return success(result_url=settings.SITE_URL + reverse("vast_log", args=[signed]))


class LogView(VastView):
    """The log that was asked for: 202 while its host is being asked."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    def get(self, request: Request, signed: str) -> HttpResponse:
        return _text(read_signed(signed))


class CommandView(VastView):
    """Run a command; the address in the response is to be fetched until it answers with 200."""

    scopes: ClassVar = {"PUT": CONNECT}

    def put(self, request: Request, number: int) -> Response:
        signed = run_command(renter=current_user(request), number=number, body=body_of(request))
        return success(result_url=settings.SITE_URL + reverse("vast_result", args=[signed]), writeable_path="")


class ResultView(VastView):
    """What a command wrote: 202 while it runs."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    def get(self, request: Request, signed: str) -> HttpResponse:
        return _text(read_signed_result(signed))


def _text(text: str | None) -> HttpResponse:
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    return HttpResponse(text or "", status=202 if text is None else 200, content_type="text/plain", headers=headers)
