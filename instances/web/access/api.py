"""API of access to an instance: keys and networks, password, logs, links to its programs."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.constants import CONNECT
from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user, require_scope
from common.http.resource_schemas import schema_of
from common.http.views import validated
from common.ids import parse_public_id
from instances.access.credentials import change_access, clear_password, set_password
from instances.access.logs import LogSearch, read_log
from instances.access.web_links import create_web_link
from instances.core.selectors import instance_of
from instances.web.access import serializers
from instances.web.access.serializers import access_detail, log_resource, password_resource, web_link_resource
from instances.web.responses import instance_id_of, may_connect

WAYS: dict[str, str] = {"GET": "instances:read", "PATCH": "instances:write", "DELETE": "instances:write"}
OPENS: dict[str, str] = {**WAYS, "POST": CONNECT}


def read_changes(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `change_access`; what was not sent stays as it is."""
    changes: dict[str, Any] = {name: wanted[name] for name in ("ports", "udp_ports") if name in wanted}
    if "allow_from" in wanted:
        changes["networks"] = wanted["allow_from"]
    if "ssh_key_ids" in wanted:
        ids = wanted["ssh_key_ids"]
        changes["key_ids"] = None if ids is None else [parse_public_id("key", text) for text in ids]
    return changes


class AccessView(APIView):
    """Access to an instance."""

    scopes: ClassVar = WAYS

    @extend_schema(operation_id="instances_access", responses=schema_of(serializers.AccessOut))
    def get(self, request: Request, instance_id: str) -> Response:
        """Return the addresses of an instance and its access settings."""
        return Response(
            access_detail(instance_of(current_user(request), instance_id_of(instance_id)), opens=may_connect(request))
        )

    @extend_schema(
        operation_id="instances_access_change", request=serializers.AccessIn, responses=schema_of(serializers.AccessOut)
    )
    def patch(self, request: Request, instance_id: str) -> Response:
        """Change keys, the IP allowlist and exposed ports.

        Also requires the scope `instances:connect`.
        """
        require_scope(request, CONNECT)
        changes = read_changes(validated(serializers.AccessIn, request.data))
        changed = change_access(renter=current_user(request), instance_id=instance_id_of(instance_id), **changes)
        return Response(access_detail(changed, opens=may_connect(request)))


class PasswordView(APIView):
    """Root's password for SSH, which is unset unless you set one."""

    scopes: ClassVar = OPENS

    @extend_schema(operation_id="instances_password_set", request=None, responses={201: schema_of(serializers.PasswordOut)})
    def post(self, request: Request, instance_id: str) -> Response:
        """Set a new random password, replacing the previous one.

        It is shown only once.
        """
        renter, row_id = current_user(request), instance_id_of(instance_id)
        return idempotent_response(
            request,
            lambda: (201, password_resource(*set_password(renter=renter, instance_id=row_id))),
            once=("password",),
        )

    @extend_schema(operation_id="instances_password_clear", responses={200: schema_of(serializers.AccessOut)})
    def delete(self, request: Request, instance_id: str) -> Response:
        """Remove the password, so that only keys can log in.

        Idempotent.
        """
        cleared = clear_password(renter=current_user(request), instance_id=instance_id_of(instance_id))
        return Response(access_detail(cleared, opens=may_connect(request)))


class LogsView(APIView):
    """Return log lines of an instance.

    Repeat the request while `reading` is true.
    """

    scopes: ClassVar = WAYS

    @extend_schema(
        operation_id="instances_logs",
        parameters=[serializers.LogsIn],
        responses={
            200: schema_of(serializers.LogsOut),
            409: OpenApiResponse(description="`log_unavailable`: logs can't be read right now"),
        },
    )
    def get(self, request: Request, instance_id: str) -> Response:
        search = LogSearch(**validated(serializers.LogsIn, request.query_params))
        found = read_log(renter=current_user(request), instance_id=instance_id_of(instance_id), search=search)
        return Response(log_resource(found))


class WebLinksView(APIView):
    """Create a link to JupyterLab, TensorBoard or another HTTP service in an instance."""

    scopes: ClassVar = OPENS

    @extend_schema(
        operation_id="instances_web_links", request=serializers.WebLinkIn, responses={201: schema_of(serializers.WebLinkOut)}
    )
    def post(self, request: Request, instance_id: str) -> Response:
        port = validated(serializers.WebLinkIn, request.data)["port"]
        renter, row_id = current_user(request), instance_id_of(instance_id)
        return idempotent_response(
            request,
            lambda: (201, web_link_resource(create_web_link(renter=renter, instance_id=row_id, port=port))),
            once=("url",),
        )
