"""API of launch templates."""

from typing import Any, ClassVar, cast

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.constants import INSTANCE_SCOPES
from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import PublicToRead, current_user, user_with_own_data
from common.http.resource_schemas import list_of, schema_of
from common.http.views import validated
from common.ids import parse_public_id
from instances.launch.settings import validate
from instances.launch.templates import settings_with
from instances.web.launch.serializers import given_settings
from workloads.models import LaunchTemplate, TemplateVersion
from workloads.templates.content import CONTENT_NAMES, read_content_without_image
from workloads.templates.gallery import search_templates
from workloads.templates.imports import preview_import
from workloads.templates.orders import order_template
from workloads.templates.selectors import (
    PREFIX,
    find_template,
    find_version,
    listed_version,
    own_template,
    version_of,
    versions_seen,
)
from workloads.templates.services import (
    create_template,
    create_version,
    delete_template,
    set_share_link,
    set_visibility,
    update_template,
)
from workloads.web.templates import serializers


def _shown(request: Request, template: LaunchTemplate) -> serializers.TemplateOut:
    user = current_user(request)
    return serializers.template_resource(template, version_of(user, template), user)


class TemplatesView(GenericAPIView[LaunchTemplate]):
    """List launch templates that you can rent with."""

    permission_classes = (PublicToRead,)
    scopes: ClassVar = INSTANCE_SCOPES
    serializer_class = schema_of(serializers.TemplateOut)
    ordering: ClassVar = ("-use_count", "pk")

    def get_queryset(self) -> QuerySet[LaunchTemplate]:
        wanted = validated(serializers.TemplatesQuery, self.request.query_params)
        user = user_with_own_data(self.request, self)
        return search_templates(
            user, words=wanted.get("q", ""), category=wanted.get("category", ""), source=wanted.get("source", "")
        )

    @extend_schema(
        operation_id="launch_templates_list",
        parameters=[serializers.TemplatesQuery],
        responses=list_of(serializers.TemplateOut),
    )
    def get(self, request: Request) -> Response:
        page = cast("list[LaunchTemplate]", self.paginate_queryset(self.get_queryset()))
        user = user_with_own_data(request, self)
        rows = [serializers.template_resource(row, listed_version(user, row), user) for row in page]
        return self.get_paginated_response(rows)

    @extend_schema(
        operation_id="launch_templates_create",
        request=serializers.TemplateIn,
        responses={201: schema_of(serializers.TemplateOut)},
    )
    def post(self, request: Request) -> Response:
        """Create a private template with its first version."""
        wanted, owner = validated(serializers.TemplateIn, request.data), current_user(request)
        content = _content(request, wanted)
        described = {name: value for name, value in wanted.items() if name not in CONTENT_NAMES}
        return idempotent_response(
            request, lambda: (201, _shown(request, create_template(owner=owner, content=content, **described)))
        )


class TemplateView(APIView):
    """Return one launch template."""

    permission_classes = (PublicToRead,)
    scopes: ClassVar = INSTANCE_SCOPES

    @extend_schema(operation_id="launch_templates_retrieve", responses=schema_of(serializers.TemplateOut))
    def get(self, request: Request, template_id: str) -> Response:
        user = user_with_own_data(request, self)
        return Response(serializers.template_resource(*find_version(user, template_id), user))

    @extend_schema(
        operation_id="launch_templates_update",
        request=serializers.TemplatePatch,
        responses=schema_of(serializers.TemplateOut),
    )
    def patch(self, request: Request, template_id: str) -> Response:
        """Change a template's title, description, visibility or share link."""
        wanted, owner = validated(serializers.TemplatePatch, request.data), current_user(request)
        row_id = own_template(owner, parse_public_id(PREFIX, template_id)).pk
        visibility, team, link = (wanted.pop(name, None) for name in ("visibility", "team", "share_link"))
        if wanted:
            update_template(owner=owner, template_id=row_id, **wanted)
        if visibility is not None:
            team_id = None if team is None else parse_public_id("team", team)
            set_visibility(owner=owner, template_id=row_id, visibility=visibility, team_id=team_id)
        if link is not None:
            set_share_link(owner=owner, template_id=row_id, on=link)
        return Response(_shown(request, own_template(owner, row_id)))

    @extend_schema(operation_id="launch_templates_delete", responses={204: None})
    def delete(self, request: Request, template_id: str) -> Response:
        """Delete one of your templates; instances rented with it keep their settings."""
        delete_template(owner=current_user(request), template_id=parse_public_id(PREFIX, template_id))
        return Response(status=204)


class TemplateVersionsView(GenericAPIView[TemplateVersion]):
    """List versions of a launch template, newest first."""

    scopes: ClassVar = INSTANCE_SCOPES
    serializer_class = schema_of(serializers.VersionOut)
    ordering: ClassVar = ("-number",)

    @extend_schema(operation_id="launch_templates_versions", responses=list_of(serializers.VersionOut))
    def get(self, request: Request, template_id: str) -> Response:
        user = current_user(request)
        template = find_template(user, template_id)
        page = cast("list[TemplateVersion]", self.paginate_queryset(versions_seen(user, template)))
        own = template.owner_id == user.pk
        return self.get_paginated_response([serializers.version_resource(row, own=own) for row in page])

    @extend_schema(
        operation_id="launch_templates_version_create",
        request=serializers.ContentIn,
        responses={201: schema_of(serializers.VersionOut)},
    )
    def post(self, request: Request, template_id: str) -> Response:
        """Add a version; identical content returns the existing version."""
        wanted, owner = validated(serializers.ContentIn, request.data), current_user(request)
        row_id = own_template(owner, parse_public_id(PREFIX, template_id)).pk
        content = _content(request, wanted)

        def add() -> tuple[int, Any]:
            made = create_version(owner=owner, template_id=row_id, content=content)
            return 201, serializers.version_resource(made, own=True)

        return idempotent_response(request, add)


class TemplateRenderView(APIView):
    """What an order with a launch template would run."""

    scopes: ClassVar = INSTANCE_SCOPES

    @extend_schema(
        operation_id="launch_templates_render",
        request=serializers.RenderIn,
        responses={200: schema_of(serializers.RenderOut)},
    )
    def post(self, request: Request, template_id: str) -> Response:
        """Return the settings of the template with your inputs and settings merged over them; nothing is stored."""
        user = current_user(request)
        find_version(user, template_id)
        wanted = validated(serializers.RenderIn, request.data)
        version = wanted.get("version")
        ordered = order_template(
            *find_version(user, f"{template_id.partition('@')[0]}@{version}" if version else template_id)
        )
        settings = settings_with(ordered, wanted.get("inputs") or {}, validate(given_settings(wanted)))
        return Response(serializers.render_resource(ordered, settings))


class TemplateImportView(APIView):
    """What would become of a docker run command as a template."""

    scopes: ClassVar = INSTANCE_SCOPES

    @extend_schema(
        operation_id="launch_templates_import",
        request=serializers.ImportIn,
        responses={200: schema_of(serializers.ImportOut)},
    )
    def post(self, request: Request) -> Response:
        """Read a docker run command or the name of an image; nothing is stored.

        An option that can't become part of a template is refused by name.
        """
        owner, line = current_user(request), validated(serializers.ImportIn, request.data)["line"]
        preview = preview_import(owner=owner, line=line)
        content = read_content_without_image(preview.content)
        return Response(serializers.import_resource(preview, content))


def _content(request: Request, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the content as it was sent, since the feature checks it as a whole."""
    sent = cast("dict[str, Any]", request.data)
    return {name: sent[name] for name in CONTENT_NAMES if name in wanted and name in sent}
