"""Headers that bind pages to their own origin."""

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from pytest_django.fixtures import Settings

from config.middleware.page_headers import PageHeaders, site_policy


def policy_of(path: str, *, with_nonce: bool = False) -> dict[str, list[str]]:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(str(request.csp_nonce) if with_nonce else "")  # type: ignore[attr-defined]

    reply = PageHeaders(view)(RequestFactory().get(path))
    assert isinstance(reply, HttpResponse)
    parts = (part.split() for part in reply.headers["Content-Security-Policy"].split(";"))
    return {name: values for name, *values in parts}


def test_pages_run_nothing_inline() -> None:
    policy = policy_of("/market")
    assert policy["default-src"] == policy["script-src"] == policy["style-src"] == ["'self'"]
    assert policy["frame-ancestors"] == policy["object-src"] == policy["base-uri"] == ["'none'"]
    assert "unsafe" not in str(policy)


def test_a_page_that_uses_its_nonce_may_run_it() -> None:
    first, second = (policy_of("/market", with_nonce=True)["script-src"] for _ in range(2))
    assert first[1].startswith("'nonce-")
    assert first != second


@pytest.mark.parametrize("path", ["/admin/accounts/user/", "/host-panel/"])
def test_the_admin_panels_have_a_policy_of_their_own(path: str) -> None:
    policy = policy_of(path)
    assert policy["script-src"] == ["'self'", "'unsafe-eval'"]
    assert policy["style-src"] == ["'self'", "'unsafe-inline'"]
    assert policy["default-src"] == ["'self'"]
    assert "unsafe" not in str(policy_of("/administration"))


def test_events_may_come_from_the_relay(settings: Settings) -> None:
    settings.CONTENT_SECURITY_POLICY = site_policy("http://127.0.0.1:8001")
    assert policy_of("/market")["connect-src"] == ["'self'", "http://127.0.0.1:8001", "ws://127.0.0.1:8001"]
    assert site_policy("")["DIRECTIVES"]["connect-src"] == ["'self'"]
    assert site_policy("", "apps.example.org")["DIRECTIVES"]["form-action"] == ["'self'", "*.apps.example.org"]


def test_every_page_carries_them(client: Client, db: None) -> None:
    headers = client.get("/healthz").headers
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "camera=()" in headers["Permissions-Policy"]
