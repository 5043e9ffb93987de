"""The two addresses of agents. No session, no user: an agent is known by its join token, then by its signature."""

import logging
from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.db import DataError, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from agents.gateway.errors import Malformed, Refused, Unavailable, WrongMethod
from agents.gateway.incoming import claimed_host, read_body, read_signed, remote_address
from agents.gateway.policy import BUSY_RETRY_S, UNAVAILABLE_RETRY_S, WAIT_PATH
from agents.gateway.services.audit import record_refusal
from agents.gateway.services.identities import enrol_agent
from agents.gateway.services.sync import exchange_report
from agents.gateway.translate import read_enrolment
from agents.protocol.codec import encode
from common import clock
from common.api import problem_response
from common.errors import Busy, DomainError

logger = logging.getLogger(__name__)

View = Callable[[HttpRequest], HttpResponse]


def agent_view(view: View) -> View:
    """POST only, no cookie and so no CSRF. An error becomes a problem document, a refusal also a row of the audit."""

    @csrf_exempt
    @wraps(view)
    def answer(request: HttpRequest) -> HttpResponse:
        try:
            return view(request) if request.method == "POST" else _refuse(request, WrongMethod())
        except DomainError as error:
            return _refuse(request, error)
        except DataError:  # a number or text that no column holds
            return _refuse(request, Malformed("A value of the message is out of range."))
        except (OperationalError, InterfaceError) as error:
            logger.warning("the database refused: %s", error)
            return _problem(Unavailable())

    return answer


@agent_view
def enrol(request: HttpRequest) -> HttpResponse:
    reply = enrol_agent(request=read_enrolment(read_body(request)))
    return HttpResponse(encode(reply), status=201, content_type="application/json")


@agent_view
def sync(request: HttpRequest) -> HttpResponse:
    reply = exchange_report(
        received_at=clock.now(),
        message=read_signed(request),
        remote_address=remote_address(request),
        wait_url=f"{settings.RELAY_URL}{WAIT_PATH}" if settings.RELAY_URL else request.build_absolute_uri(WAIT_PATH),
    )
    return HttpResponse(encode(reply), content_type="application/json")


def _refuse(request: HttpRequest, error: DomainError) -> HttpResponse:
    if error.status < 500:  # noqa: PLR2004 what is our fault is no refusal
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
    if isinstance(error, Busy | Unavailable):
        response["Retry-After"] = str(BUSY_RETRY_S if isinstance(error, Busy) else UNAVAILABLE_RETRY_S)
    if error.status == 401:  # noqa: PLR2004 HTTP asks for the way to authenticate
        response["WWW-Authenticate"] = "Berth-Signature"
    if isinstance(error, WrongMethod):
        response["Allow"] = "POST"
    return response
