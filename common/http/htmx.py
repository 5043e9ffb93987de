"""One view for page and part: htmx gets the part, a first load the page that includes it."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render as render_template


def render(request: HttpRequest, *, page: str, part: str, context: dict[str, Any]) -> HttpResponse:
    """Render `part` for an htmx request (unless it is boosted or restores history), else `page`."""
    details = request.htmx  # type: ignore[attr-defined]  # set by HtmxMiddleware
    wants_part = details and not details.boosted and not details.history_restore_request
    response = render_template(request, part if wants_part else page, context)
    response["Vary"] = "HX-Request"
    return response
