"""Views of launch templates."""

from typing import ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.constants import INSTANCE_SCOPES
from accounts.web.permissions import current_user
from vast.presets import templates
from vast.search.filters import read_filters
from vast.web.base import VastView, body_of, success

_SCOPES = {**INSTANCE_SCOPES, "PUT": "instances:write"}


class TemplatesView(VastView):
    """Templates that the renter may use."""

    scopes: ClassVar = _SCOPES

    def get(self, request: Request) -> Response:
        filters = read_filters(request.query_params.get("select_filters"))
        rows = templates.template_rows(current_user(request), filters)
        return success(templates=rows, templates_found=len(rows))

    def post(self, request: Request) -> Response:
        made = templates.make_template(owner=current_user(request), body=body_of(request))
        return success(msg="Template created.", template=made)

    def delete(self, request: Request) -> Response:
        templates.remove_template(owner=current_user(request), body=body_of(request))
        return success(msg="Template deleted.")


class TemplateView(VastView):
    """A new version of a template."""

    scopes: ClassVar = _SCOPES

    def put(self, request: Request) -> Response:
        changed = templates.change_template(owner=current_user(request), body=body_of(request))
        return success(msg="Template updated.", template=changed)
