"""OpenAPI document of the API."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import condition, require_safe

from common.http.openapi import schema_json, schema_version


def _version(request: HttpRequest) -> str:
    return schema_version()


@require_safe
@cache_control(public=True, max_age=300)
@condition(etag_func=_version)
def openapi_json(request: HttpRequest) -> HttpResponse:
    return HttpResponse(schema_json(), content_type="application/json")
