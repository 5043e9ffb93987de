"""The short lane: what it skips, what it must not lose."""

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import path
from pytest_django.fixtures import Settings
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.constants import SCOPES
from accounts.models import User
from accounts.tokens.services import issue_token
from config import urls as site_urls
from config.middleware.api_fast_path import MAX_BODY_BYTES, ApiFastPathMiddleware


def seen_by(request: HttpRequest) -> HttpResponse:
    marks = [name for name in ("session", "user", "htmx", "csp_nonce") if hasattr(request, name)]
    return HttpResponse(" ".join(marks))


def crash(request: HttpRequest) -> HttpResponse:
    raise ZeroDivisionError("secret number")


class Crash(APIView):
    permission_classes = (AllowAny,)

    def get(self, request: Request) -> Response:
        raise ZeroDivisionError("secret number")


handler404, handler500 = site_urls.handler404, site_urls.handler500
urlpatterns = [
    path("agent/v1/seen", seen_by),
    path("agent/v1/crash", crash),
    path("api/v1/seen", seen_by),
    path("api/v1/crash", Crash.as_view()),
    path("seen", seen_by),
]
here = pytest.mark.urls(__name__)


@here
def test_agents_and_tokens_meet_no_middleware_of_pages(db: None) -> None:
    client = Client()
    assert client.get("/seen").content.split() == [b"session", b"user", b"htmx", b"csp_nonce"]
    assert client.get("/agent/v1/seen").content == b""
    assert client.get("/api/v1/seen").content == b""
    client.cookies["sessionid"] = "x"
    assert b"session" in client.get("/api/v1/seen").content
    assert client.get("/api/v1/seen", headers={"authorization": "Bearer x"}).content == b""
    assert client.get("/agent/v1/seen").content == b""


@here
def test_the_lane_keeps_security_headers_and_length(db: None) -> None:
    for address in ("/agent/v1/seen", "/api/v1/seen"):
        headers = Client().get(address).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Content-Length"] == "0"
    assert Client().get("/api/v1/seen").headers["Cache-Control"] == "no-store"


@here
@pytest.mark.parametrize("address", ["/api/v1/crash", "/agent/v1/crash"])
def test_a_crash_tells_nothing(db: None, address: str) -> None:
    reply = Client(raise_request_exception=False).get(address)
    assert (reply.status_code, reply.headers["Content-Type"]) == (500, "application/problem+json")
    assert reply.json()["code"] == "internal_error"
    assert b"secret" not in reply.content


@here
@pytest.mark.parametrize("address", ["/api/v1/nowhere", "/agent/v1/nowhere", "/api/nowhere", "/api/v1/seen/"])
def test_unknown_addresses_are_problems(db: None, address: str) -> None:
    reply = Client().get(address)
    assert (reply.status_code, reply.headers["Content-Type"]) == (404, "application/problem+json")


def test_a_large_body_is_refused_before_it_is_read(db: None) -> None:
    request = RequestFactory().post("/api/v1/tokens", b"{}", content_type="application/json")
    request.META["CONTENT_LENGTH"] = str(MAX_BODY_BYTES + 1)
    reply = ApiFastPathMiddleware(lambda request: pytest.fail("went on"))(request)
    assert reply.status_code == 413


def test_the_api_speaks_english_to_every_browser(alice: User) -> None:
    _, text = issue_token(user=alice, name="x", scopes=list(SCOPES))
    by_token = Client(headers={"authorization": f"Bearer {text}", "accept-language": "zh-hans"})
    by_session = Client(headers={"accept-language": "zh-hans"})
    by_session.cookies["django_language"] = "zh-hans"
    by_session.force_login(alice)
    for client in (by_token, by_session):
        reply = client.post("/api/v1/tokens", {}, content_type="application/json")
        assert reply.json()["errors"][0]["detail"] == "This field is required."
        assert "Content-Language" not in reply.headers


def test_a_wrong_host_is_refused(db: None, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["berth.example"]
    reply = Client(raise_request_exception=False).get("/api/v1/me")
    assert (reply.status_code, reply.headers["Content-Type"]) == (400, "application/problem+json")
