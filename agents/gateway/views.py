"""HTTP endpoints of the agents.

There is no session and no user: an agent is known by its join token first, then by its signature. The release and the
install script are public: whoever installs the agent checks digests and a signature.
"""

import logging
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from django.conf import settings
from django.db import DataError, InterfaceError, OperationalError
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from agents.gateway.constants import BUSY_RETRY_S, SPEED_WINDOW, UNAVAILABLE_RETRY_S, WAIT_PATH
from agents.gateway.converters import read_enrolment
from agents.gateway.errors import Malformed, Refused, TooManySpeedTests, Unavailable, WrongMethod
from agents.gateway.request_parsing import claimed_host, read_body, read_signed, remote_address
from agents.gateway.services.audit import record_refusal
from agents.gateway.services.identities import enrol_agent
from agents.gateway.services.self_tests import accept_upload, download_bytes, issue_port_check_ticket
from agents.gateway.services.sync import sync_host
from agents.protocol.codec import encode
from agents.protocol.speed_test import LARGEST_BYTES, SERVER_TIME_HEADER
from common import clock
from common.agent_release import INSTALL_SCRIPT, release_path
from common.errors import Busy, DomainError, NotFound
from common.http.problems import problem_response
from common.json import to_json

logger = logging.getLogger(__name__)

View = Callable[..., HttpResponse]
# Seconds to wait before a retry, for errors that pass by themselves and for limits.
_RETRY_AFTER_S: dict[type[DomainError], int] = {
    Busy: BUSY_RETRY_S,
    Unavailable: UNAVAILABLE_RETRY_S,
    TooManySpeedTests: SPEED_WINDOW.seconds,
}


def agent_view(view: View, method: str = "POST") -> View:
    """Decorate a view: one method, no CSRF check, errors as problem documents, refusals audited."""

    @csrf_exempt
    @wraps(view)
    def answer(request: HttpRequest, **parts: Any) -> HttpResponse:
        try:
            return view(request, **parts) if request.method == method else _refuse(request, WrongMethod(allowed=method))
        except DomainError as error:
            return _refuse(request, error)
        except DataError:  # a number or text that no column can hold
            return _refuse(request, Malformed("A value of the message is out of range."))
        except (OperationalError, InterfaceError) as error:
            logger.warning("the database refused: %s", error)
            return _problem(Unavailable())

    return answer


@agent_view
def enrol(request: HttpRequest) -> HttpResponse:
    wanted, refused = read_enrolment(read_body(request))
    reply = enrol_agent(request=wanted, refused=refused)
    return HttpResponse(encode(reply), status=201, content_type="application/json")


@agent_view
def sync(request: HttpRequest) -> HttpResponse:
    reply = sync_host(
        received_at=clock.now(),
        message=read_signed(request),
        remote_address=remote_address(request),
        wait_url=_wait_url(request),
    )
    return HttpResponse(encode(reply), content_type="application/json")


@agent_view
def reach(request: HttpRequest) -> HttpResponse:
    ticket = issue_port_check_ticket(
        message=read_signed(request, at_most=0),
        received_at=clock.now(),
        wait_url=_wait_url(request),
    )
    return HttpResponse(to_json(ticket), content_type="application/json", headers={"Cache-Control": "no-store"})


@agent_view
def speed_up(request: HttpRequest) -> HttpResponse:
    message = read_signed(request, at_most=LARGEST_BYTES)
    count = accept_upload(message=message, received_at=clock.now())
    return _timed(HttpResponse(to_json({"bytes": count}), content_type="application/json"))


@partial(agent_view, method="GET")
def speed_down(request: HttpRequest, count: int) -> HttpResponse:
    content = download_bytes(message=read_signed(request, at_most=0), received_at=clock.now(), count=count)
    return _timed(HttpResponse(content, content_type="application/octet-stream", headers={"Cache-Control": "no-store"}))


@require_safe
def install_script(request: HttpRequest) -> HttpResponse:
    return HttpResponse(
        INSTALL_SCRIPT.read_bytes(), content_type="text/x-shellscript", headers={"Cache-Control": "no-cache"}
    )


@require_safe
def release_file(request: HttpRequest, name: str) -> HttpResponseBase:
    path = release_path(name)
    if path is None:
        return problem_response(NotFound("This market serves no such file of the agent."))
    return FileResponse(path.open("rb"), content_type="application/octet-stream", headers={"Cache-Control": "no-cache"})


def _wait_url(request: HttpRequest) -> str:
    return f"{settings.RELAY_URL}{WAIT_PATH}" if settings.RELAY_URL else request.build_absolute_uri(WAIT_PATH)


def _timed(response: HttpResponse) -> HttpResponse:
    response[SERVER_TIME_HEADER] = f"{clock.now().timestamp():.6f}"
    return response


def _refuse(request: HttpRequest, error: DomainError) -> HttpResponse:
    if error.status < 500:  # noqa: PLR2004 a server error is no refusal
        try:
            record_refusal(
                claimed_host=claimed_host(request),
                reason=error.code,
                detail=str(error.detail),
                remote_address=remote_address(request),
                by_stranger=not isinstance(error, Refused) or error.by_stranger,
            )
        except (OperationalError, InterfaceError):
            return _problem(Unavailable())
    return _problem(error)


def _problem(error: DomainError) -> HttpResponse:
    response = problem_response(error)
    if (pause := _RETRY_AFTER_S.get(type(error))) is not None:
        response["Retry-After"] = str(pause)
    if error.status == 401:  # noqa: PLR2004 HTTP requires the authentication scheme
        response["WWW-Authenticate"] = "Berth-Signature"
    if isinstance(error, WrongMethod):
        response["Allow"] = str(error.extra["allowed"])
    return response
