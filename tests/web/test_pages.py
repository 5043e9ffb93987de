"""Pages that belong to no app, the frame of all pages, and the two languages."""

import re

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.utils import translation

from accounts.models import User
from config.console import GUIDES

pytestmark = pytest.mark.django_db


def test_docs_lists_every_guide(client: Client) -> None:
    text = client.get("/docs").content.decode()
    assert all(f'href="/docs/{guide.slug}"' in text for guide in GUIDES)


@pytest.mark.parametrize("slug", [guide.slug for guide in GUIDES])
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_guide_opens_in_both_languages(client: Client, slug: str, language: str) -> None:
    response = client.get(f"/docs/{slug}", headers={"accept-language": language})
    assert response.status_code == 200
    assert f'<html lang="{language}"' in response.content.decode()


def test_unknown_guide_is_404(client: Client) -> None:
    response = client.get("/docs/nothing")
    assert response.status_code == 404
    assert "Page not found" in response.content.decode()


def test_api_reference_names_every_operation(client: Client) -> None:
    text = client.get("/docs/reference").content.decode()
    assert "/api/v1/instances/{instance_id}/start" in text
    assert 'href="/api/v1/openapi.json"' in text


def test_language_switch_is_kept_and_returns_to_the_page(client: Client) -> None:
    response = client.post("/i18n/setlang/", {"language": "zh-hans", "next": "/docs"})
    assert response["Location"] == "/docs"
    assert "文档" in client.get("/docs").content.decode()


def test_frame_is_strict(client: Client) -> None:
    response = client.get("/docs")
    policy = response["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"<script(?![^>]*\bsrc=)", response.content.decode())


def test_events_stream_is_named_only_to_the_signed_in(client: Client, alice: User) -> None:
    assert "sse-connect" not in client.get("/docs").content.decode()
    client.force_login(alice)
    assert "/relay/v1/events?ticket=" in client.get("/instances").content.decode()


def test_500_needs_nothing_but_its_template() -> None:
    with translation.override("en"):
        assert "Something went wrong on our end" in render_to_string("500.html")


@pytest.mark.parametrize("name", ["400.html", "403.html", "404.html", "403_csrf.html"])
def test_error_pages_render(name: str, client: Client) -> None:
    request = client.get("/docs").wsgi_request
    assert "empty-state" in render_to_string(name, {}, request)


def test_expired_form_is_told_in_words() -> None:
    response = Client(enforce_csrf_checks=True).post("/i18n/setlang/", {"language": "en"})
    assert response.status_code == 403
    assert "This form has expired" in response.content.decode()


@pytest.mark.parametrize(
    "path", ["/accounts/login/", "/accounts/signup/", "/accounts/password/reset/", "/accounts/confirm-email/"]
)
def test_entrance_pages_open(client: Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 200
    assert "entrance" in response.content.decode()


@pytest.mark.parametrize("path", ["/accounts/email/", "/accounts/password/change/", "/accounts/2fa/"])
def test_account_pages_open_inside_the_console(client: Client, alice: User, path: str) -> None:
    client.force_login(alice)
    text = client.get(path).content.decode()
    assert 'class="menu"' in text
