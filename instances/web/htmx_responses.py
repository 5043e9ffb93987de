"""Responses to htmx forms that show nothing themselves."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse


def changed(request: HttpRequest, page: str, *where: str) -> HttpResponse:
    """Make htmx refresh the live parts of the page, or redirect a browser without it."""
    if request.htmx:  # type: ignore[attr-defined]  # set by HtmxMiddleware
        return HttpResponse(status=204, headers={"HX-Trigger": "changed"})
    return redirect(page, *where)


def gone_to(request: HttpRequest, page: str, *where: str) -> HttpResponse:
    """Make htmx load another page, or redirect a browser without it."""
    if request.htmx:  # type: ignore[attr-defined]  # set by HtmxMiddleware
        return HttpResponse(status=204, headers={"HX-Redirect": reverse(page, args=where)})
    return redirect(page, *where)
