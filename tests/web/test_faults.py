"""Errors of services, in words: as a page, as a toast, as a message after a redirect."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.messages import get_messages
from django.contrib.messages.storage.fallback import FallbackStorage
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.utils import translation
from django_htmx.middleware import HtmxDetails

from common.errors import Busy, DomainError, FieldError, NotFound
from config.error_pages import FAULTS, ErrorPageMiddleware, failure_text, fault_of
from config.failure_messages import FAILURES
from instances.constants import FAULT_OF
from marketplace.errors import GpuTaken

ROOT = Path(__file__).parent.parent.parent
# Errors that only programs, agents or staff can meet.
UNSEEN = {
    *("error", "idempotency_conflict", "missing_scope", "no_open_hold", "ledger_append_only", "gpu_claimed"),
    *("join_token_refused", "simulation_refused", "host_in_use", "still_metered", "already_corrected"),
    *("authorization_pending", "slow_down", "access_denied", "expired_token"),  # a program that logs in by device code
    "grant_refused",  # the staff panel shows its own text
    *("host_silent", "too_many_commands"),  # a program that runs a command through the API
    *("invalid_args", "invalid_price", "no_such_ask", "no_such_instance", "not_implemented"),  # clients of Vast
}


def _request(method: str = "post", path: str = "/instances/x/stop", *, htmx: bool = False, **headers: str) -> HttpRequest:
    request: HttpRequest = getattr(RequestFactory(), method)(path, headers=headers)
    request.session = {}  # type: ignore[assignment]  # as much of a session as messages need
    request._messages = FallbackStorage(request)  # type: ignore[attr-defined]  # what the middleware would set
    request.htmx = HtmxDetails(request) if htmx else False  # type: ignore[attr-defined]  # likewise
    request.user = None  # type: ignore[assignment]  # nobody: the page's bar asks
    return request


def _answer(request: HttpRequest, error: Exception) -> HttpResponse | None:
    return ErrorPageMiddleware(lambda _: HttpResponse()).process_exception(request, error)


def _domain_errors() -> Iterator[str]:
    for path in ROOT.glob("*/errors.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "code":
                yield ast.literal_eval(node.value)


def test_every_error_that_a_page_can_meet_has_words() -> None:
    assert set(_domain_errors()) - UNSEEN - FAULTS.keys() == set()


def test_every_failure_of_an_instance_has_words() -> None:
    assert FAULT_OF.keys() - FAILURES.keys() == set()


def test_words_of_a_field_come_first() -> None:
    error = DomainError("…", errors=[FieldError("public_key", "private_key", "…")])
    error.code = "invalid_ssh_key"
    assert fault_of(error) == FAULTS["invalid_ssh_key.private_key"]
    error.errors = [FieldError("public_key", "malformed", "…")]
    assert fault_of(error) == FAULTS["invalid_ssh_key"]


def test_unknown_errors_say_what_they_say() -> None:
    error = DomainError("The moon is full.")
    assert fault_of(error).title == "The moon is full."
    assert failure_text("odd").title == "The instance failed."


def test_htmx_gets_a_toast() -> None:
    request = _request(htmx=True, **{"HX-Request": "true"})
    response = _answer(request, GpuTaken("taken"))
    assert response is not None
    assert response.status_code == 409
    assert response["HX-Retarget"] == "#toasts"
    assert "These GPUs were just rented" in response.content.decode()


def test_form_goes_back_with_a_message() -> None:
    request = _request(Referer="http://testserver/market?x=1")
    response = _answer(request, GpuTaken("taken"))
    assert response is not None
    assert (response.status_code, response["Location"]) == (303, "/market")
    assert "These GPUs were just rented" in str(next(iter(get_messages(request))))


@pytest.mark.parametrize("referer", ["https://elsewhere.example/evil", "", "http://testserver/instances/x/stop"])
def test_form_from_elsewhere_goes_to_the_instances(referer: str) -> None:
    response = _answer(_request(Referer=referer), Busy())
    assert response is not None
    assert response["Location"] == "/instances"


def test_not_found_is_404_for_pages_and_forms_alike() -> None:
    for method in ("get", "post"):
        response = _answer(_request(method), NotFound("no"))
        assert response is not None
        assert response.status_code == 404


def test_page_says_what_is_wrong() -> None:
    response = _answer(_request("get"), Busy())
    assert response is not None
    assert response.status_code == 503
    assert "Berth is busy" in response.content.decode()


def test_words_are_in_the_readers_language() -> None:
    with translation.override("zh-hans"):
        assert str(FAULTS["gpu_taken"].title).startswith("这些 GPU 刚刚被其他人租走")


@pytest.mark.parametrize("path", ["/api/v1/instances", "/agent/v1/sync"])
def test_programs_are_left_alone(path: str) -> None:
    assert _answer(_request(path=path), Busy()) is None


def test_other_exceptions_are_left_alone() -> None:
    assert _answer(_request(), ValueError("bug")) is None
