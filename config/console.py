"""Pages that belong to no app: the guides, the API reference and its OpenAPI document."""

from dataclasses import dataclass
from itertools import groupby

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import condition, require_safe

from common.http.openapi import Operation, operations, schema_json, schema_version
from config.client_wheel import install_line


@dataclass(frozen=True)
class Guide:
    """One page of templates/docs."""

    slug: str
    title: str | Promise
    summary: str | Promise
    symbol: str


GUIDES = (
    Guide("first-rent", _("Rent your first GPU"), _("From the market to a shell in five steps."), "rocket"),
    Guide("connect", _("Connect: SSH, JupyterLab, TensorBoard"), _("Log in, copy files, open notebooks."), "terminal-2"),
    Guide(
        "billing",
        _("What you pay for, and when"),
        _("Holds, per-second billing and statement entries, explained."),
        "receipt-2",
    ),
    Guide("stop-and-data", _("Stop, start, release: what is kept"), _("Disks, GPUs and 30-day retention."), "database"),
    Guide("hosting", _("Rent out your GPUs"), _("Add a host with one command and set prices."), "server-2"),
    Guide("webhooks", _("Webhooks"), _("Signed event messages, and how to verify them."), "world"),
    Guide("api", _("Automate with the API"), _("Tokens, idempotency keys, dry runs, errors."), "code"),
)


def docs(request: HttpRequest) -> HttpResponse:
    return render(request, "docs/index.html", {"guides": GUIDES})


def guide(request: HttpRequest, slug: str) -> HttpResponse:
    found = next((page for page in GUIDES if page.slug == slug), None)
    if found is None:
        raise Http404
    site_url = f"{request.scheme}://{request.get_host()}"
    context = {"guide": found, "guides": GUIDES, "site_url": site_url, "install_client": install_line(site_url)}
    return render(request, f"docs/{slug}.html", context)


def api_reference(request: HttpRequest) -> HttpResponse:
    return render(request, "docs/reference.html", {"groups": _by_resource(operations()), "guides": GUIDES, "guide": None})


def _by_resource(rows: tuple[Operation, ...]) -> list[tuple[str, list[Operation]]]:
    """Group operations by the first part of their path, such as `instances`."""

    def resource(row: Operation) -> str:
        return row.path.removeprefix("/api/v1/").partition("/")[0]

    return [(name, list(group)) for name, group in groupby(sorted(rows, key=resource), key=resource)]


def _version(request: HttpRequest) -> str:
    return schema_version()


@require_safe
@cache_control(public=True, max_age=300)
@condition(etag_func=_version)
def openapi_json(request: HttpRequest) -> HttpResponse:
    return HttpResponse(schema_json(), content_type="application/json")


web_urlpatterns = [
    path("docs", docs, name="docs"),
    path("docs/reference", api_reference, name="api_reference"),
    path("docs/<slug:slug>", guide, name="guide"),
]
