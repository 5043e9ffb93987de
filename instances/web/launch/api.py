"""API of the launch settings of a stopped instance."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.permissions import current_user
from common.http.resource_schemas import schema_of
from common.http.views import validated
from instances.lifecycle.launch import change_launch
from instances.web.launch.serializers import LaunchPatch, given_settings
from instances.web.resources import InstanceOut
from instances.web.responses import instance_id_of, instance_response, may_connect, require_connect_scope_to_run


class LaunchView(APIView):
    """What an instance runs, and with which environment."""

    scopes: ClassVar = {"PATCH": "instances:write"}

    @extend_schema(operation_id="instances_launch_update", request=LaunchPatch, responses=schema_of(InstanceOut))
    def patch(self, request: Request, instance_id: str) -> Response:
        """Change the launch settings of a stopped instance, or of a running one, which restarts with the changes.

        Also requires the scope `instances:connect`, since what runs there can read the stored data and the
        secrets.
        """
        changes = given_settings(validated(LaunchPatch, request.data))
        require_connect_scope_to_run(request, changes)
        who: dict[str, Any] = {"renter": current_user(request), "instance_id": instance_id_of(instance_id)}
        return Response(instance_response(change_launch(**who, changes=changes), opens=may_connect(request)))
