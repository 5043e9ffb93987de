"""What a page's form is answered with when nothing is to be shown."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse


def changed(request: HttpRequest, page: str, *where: str) -> HttpResponse:
    """htmx looks at its live parts again; a browser without it goes to the page."""
    if request.htmx:  # type: ignore[attr-defined]  # set by HtmxMiddleware
        return HttpResponse(status=204, headers={"HX-Trigger": "changed"})
    return redirect(page, *where)


def gone_to(request: HttpRequest, page: str, *where: str) -> HttpResponse:
    """htmx is told to load the page anew; a browser without it is sent there."""
    if request.htmx:  # type: ignore[attr-defined]  # set by HtmxMiddleware
        return HttpResponse(status=204, headers={"HX-Redirect": reverse(page, args=where)})
    return redirect(page, *where)
