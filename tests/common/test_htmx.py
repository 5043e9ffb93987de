"""One view for page and part."""

from typing import Any

import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from django_htmx.middleware import HtmxMiddleware

from common.http import htmx


@pytest.mark.parametrize(
    ("headers", "template"),
    [
        ({}, "page.html"),
        ({"hx-request": "true"}, "part.html"),
        ({"hx-request": "true", "hx-boosted": "true"}, "page.html"),
        ({"hx-request": "true", "hx-history-restore-request": "true"}, "page.html"),
    ],
)
def test_htmx_gets_the_part(monkeypatch: pytest.MonkeyPatch, headers: dict[str, str], template: str) -> None:
    monkeypatch.setattr(htmx, "render_template", lambda request, name, context: HttpResponse(name))

    def view(request: Any) -> HttpResponse:
        return htmx.render(request, page="page.html", part="part.html", context={})

    reply: Any = HtmxMiddleware(view)(RequestFactory().get("/", headers=headers))
    assert reply.content.decode() == template
    assert reply.headers["Vary"] == "HX-Request"
