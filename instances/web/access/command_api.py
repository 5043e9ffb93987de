"""API of one-shot commands in an instance."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.constants import CONNECT
from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user
from common.http.resource_schemas import schema_of
from common.http.views import validated
from common.ids import parse_public_id
from instances.access.commands import cancel_command, command_run, read_command, start_command
from instances.web.access.command_serializers import COMMAND_PREFIX, CommandIn, CommandOut, command_resource
from instances.web.responses import instance_id_of

_REFUSED = OpenApiResponse(
    description="`not_running`; `host_silent`: the host is not responding; `too_many_commands`: too many are still running"
)


class CommandsView(APIView):
    """Commands in an instance."""

    scopes: ClassVar = {"POST": CONNECT}

    @extend_schema(operation_id="instances_exec", request=CommandIn, responses={201: schema_of(CommandOut), 409: _REFUSED})
    def post(self, request: Request, instance_id: str) -> Response:
        """Run a command in a running instance, without SSH.

        Returns immediately; read the result at `/exec/{command_id}`. The command runs at most once, and with an
        `Idempotency-Key` once for all retries of the request. After `timeout_seconds`, it is killed together
        with all its child processes.
        """
        command = read_command(validated(CommandIn, request.data))
        who: dict[str, Any] = {"renter": current_user(request), "instance_id": instance_id_of(instance_id)}
        return idempotent_response(
            request, lambda: (201, command_resource(start_command(**who, command=command))), keyed=True
        )


class CommandView(APIView):
    """One command and its result."""

    scopes: ClassVar = {"GET": CONNECT, "DELETE": CONNECT}

    @extend_schema(operation_id="instances_exec_result", responses=schema_of(CommandOut))
    def get(self, request: Request, instance_id: str, command_id: str) -> Response:
        """Return a command with its result, until an hour after its end."""
        return Response(command_resource(command_run(**_who(request, instance_id, command_id))))

    @extend_schema(operation_id="instances_exec_cancel", responses={200: schema_of(CommandOut)})
    def delete(self, request: Request, instance_id: str, command_id: str) -> Response:
        """Kill a command that is still running, and erase its output.

        Idempotent.
        """
        return Response(command_resource(cancel_command(**_who(request, instance_id, command_id))))


def _who(request: Request, instance_id: str, command_id: str) -> dict[str, Any]:
    return {
        "renter": current_user(request),
        "instance_id": instance_id_of(instance_id),
        "command_id": parse_public_id(COMMAND_PREFIX, command_id),
    }
