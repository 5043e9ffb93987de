"""API of object storage: connections, syncs of volumes and data disks, schedules, archives."""

from typing import Any, ClassVar, cast

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.constants import STORAGE_SCOPES
from accounts.models import User
from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user
from common.http.resource_schemas import list_of, schema_of
from common.http.views import validated
from common.ids import parse_public_id
from instances.core.selectors import instance_of
from instances.object_sync.disk_syncs import sync_disk
from instances.object_sync.schedules import add_schedule, remove_schedule
from instances.retention.archive import remove_archive_connection, set_archive, set_archive_default
from instances.retention.selectors import archive_default
from instances.web.object_sync import serializers
from instances.web.object_sync.request_parsing import parse_connection_id, parse_schedule, parse_sync_request
from instances.web.object_sync.serializers import (
    CONNECTION_PREFIX,
    SCHEDULE_PREFIX,
    SYNC_PREFIX,
    archive_default_resource,
    archive_resource,
    connection_resource,
    schedule_resource,
    sync_resource,
)
from instances.web.responses import instance_id_of
from instances.web.volumes.resources import VOLUME_PREFIX
from storage.object_sync.connections import change_login, check_connection, check_connection_with_key, save_connection
from storage.object_sync.selectors import connection_of, connections_of, schedules_of, sync_of, syncs_of
from storage.object_sync.syncs import cancel_sync, sync_volume
from storage.volumes.selectors import volume_of

SCOPES: dict[str, str] = {**STORAGE_SCOPES, "PUT": "storage:write"}


class ConnectionsView(GenericAPIView[Any]):
    """List your connections to object storage."""

    scopes: ClassVar = SCOPES
    serializer_class = schema_of(serializers.ConnectionOut)
    ordering: ClassVar = ("name",)

    def get_queryset(self) -> QuerySet[Any]:
        return connections_of(current_user(self.request).pk)

    @extend_schema(operation_id="connections_list", responses=list_of(serializers.ConnectionOut))
    def get(self, request: Request) -> Response:
        page = cast("list[Any]", self.paginate_queryset(self.get_queryset()))
        return self.get_paginated_response([connection_resource(row) for row in page])

    @extend_schema(
        operation_id="connections_create",
        request=serializers.ConnectionIn,
        responses={201: schema_of(serializers.ConnectionOut)},
    )
    def post(self, request: Request) -> Response:
        """Test a connection and save it; its key must be able to list the folder."""
        wanted, owner = validated(serializers.ConnectionIn, request.data), current_user(request)
        name = wanted.pop("name")
        tried = check_connection(**wanted)
        return idempotent_response(
            request, lambda: (201, connection_resource(save_connection(owner=owner, name=name, tried=tried)))
        )


class ConnectionView(APIView):
    """Return one of your connections."""

    scopes: ClassVar = SCOPES

    @extend_schema(operation_id="connections_retrieve", responses=schema_of(serializers.ConnectionOut))
    def get(self, request: Request, connection_id: str) -> Response:
        row_id = parse_public_id(CONNECTION_PREFIX, connection_id)
        return Response(connection_resource(connection_of(current_user(request).pk, row_id)))

    @extend_schema(
        operation_id="connections_login", request=serializers.ConnectionLogin, responses=schema_of(serializers.ConnectionOut)
    )
    def put(self, request: Request, connection_id: str) -> Response:
        """Test a new access key for a connection and replace the old one."""
        owner, row_id = current_user(request), parse_public_id(CONNECTION_PREFIX, connection_id)
        tried = check_connection_with_key(
            owner=owner, connection_id=row_id, **validated(serializers.ConnectionLogin, request.data)
        )
        return Response(connection_resource(change_login(owner=owner, connection_id=row_id, tried=tried)))

    @extend_schema(operation_id="connections_remove", responses={204: None})
    def delete(self, request: Request, connection_id: str) -> Response:
        """Delete a connection and its schedules.

        Running syncs continue.
        """
        remove_archive_connection(
            owner=current_user(request), connection_id=parse_public_id(CONNECTION_PREFIX, connection_id)
        )
        return Response(status=204)


class SyncsView(GenericAPIView[Any]):
    """List all your syncs, newest first."""

    scopes: ClassVar = SCOPES
    serializer_class = schema_of(serializers.SyncOut)

    def get_queryset(self) -> QuerySet[Any]:
        return syncs_of(current_user(self.request).pk)

    @extend_schema(operation_id="syncs_list", responses=list_of(serializers.SyncOut))
    def get(self, request: Request) -> Response:
        page = cast("list[Any]", self.paginate_queryset(self.get_queryset()))
        return self.get_paginated_response([sync_resource(row) for row in page])


class SyncView(APIView):
    """Return one of your syncs."""

    scopes: ClassVar = SCOPES

    @extend_schema(operation_id="syncs_retrieve", responses=schema_of(serializers.SyncOut))
    def get(self, request: Request, sync_id: str) -> Response:
        return Response(sync_resource(sync_of(current_user(request).pk, parse_public_id(SYNC_PREFIX, sync_id))))


class SyncCancelView(APIView):
    """Cancel a sync.

    Files already copied are kept.
    """

    scopes: ClassVar = SCOPES

    @extend_schema(operation_id="syncs_cancel", request=None, responses={202: schema_of(serializers.SyncOut)})
    def post(self, request: Request, sync_id: str) -> Response:
        owner, row_id = current_user(request), parse_public_id(SYNC_PREFIX, sync_id)

        def cancel() -> tuple[int, serializers.SyncOut]:
            return 202, sync_resource(sync_of(owner.pk, cancel_sync(owner=owner, sync_id=row_id).pk))

        return idempotent_response(request, cancel)


class VolumeSyncsView(GenericAPIView[Any]):
    """List syncs of one of your volumes."""

    scopes: ClassVar = SCOPES
    serializer_class = schema_of(serializers.SyncOut)

    @extend_schema(operation_id="volumes_syncs_list", responses=list_of(serializers.SyncOut))
    def get(self, request: Request, volume_id: str) -> Response:
        volume = volume_of(current_user(request).pk, parse_public_id(VOLUME_PREFIX, volume_id))
        page = cast("list[Any]", self.paginate_queryset(syncs_of(current_user(request).pk, volume.pk)))
        return self.get_paginated_response([sync_resource(row) for row in page])

    @extend_schema(
        operation_id="volumes_syncs_create", request=serializers.SyncIn, responses={202: schema_of(serializers.SyncOut)}
    )
    def post(self, request: Request, volume_id: str) -> Response:
        """Copy a volume, or a folder of it, to or from object storage."""
        owner, row_id = current_user(request), parse_public_id(VOLUME_PREFIX, volume_id)
        order = _order(validated(serializers.SyncIn, request.data))
        return idempotent_response(request, lambda: _started(owner, sync_volume(owner=owner, volume_id=row_id, **order)))


class InstanceSyncsView(GenericAPIView[Any]):
    """List syncs of the data disk of one of your instances."""

    scopes: ClassVar = SCOPES
    serializer_class = schema_of(serializers.SyncOut)

    @extend_schema(operation_id="instances_syncs_list", responses=list_of(serializers.SyncOut))
    def get(self, request: Request, instance_id: str) -> Response:
        instance = instance_of(current_user(request), instance_id_of(instance_id))
        page = cast("list[Any]", self.paginate_queryset(syncs_of(current_user(request).pk, instance.pk)))
        return self.get_paginated_response([sync_resource(row) for row in page])

    @extend_schema(
        operation_id="instances_syncs_create", request=serializers.SyncIn, responses={202: schema_of(serializers.SyncOut)}
    )
    def post(self, request: Request, instance_id: str) -> Response:
        """Copy the data disk of an instance, or a folder of it, to or from object storage.

        The instance may run or be stopped.
        """
        renter, row_id = current_user(request), instance_id_of(instance_id)
        order = _order(validated(serializers.SyncIn, request.data))
        return idempotent_response(request, lambda: _started(renter, sync_disk(renter=renter, instance_id=row_id, **order)))


class SyncSchedulesView(GenericAPIView[Any]):
    """List your sync schedules."""

    scopes: ClassVar = SCOPES
    serializer_class = schema_of(serializers.SyncScheduleOut)
    ordering: ClassVar = ("next_at",)

    def get_queryset(self) -> QuerySet[Any]:
        return schedules_of(current_user(self.request).pk)

    @extend_schema(operation_id="sync_schedules_list", responses=list_of(serializers.SyncScheduleOut))
    def get(self, request: Request) -> Response:
        page = cast("list[Any]", self.paginate_queryset(self.get_queryset()))
        return self.get_paginated_response([schedule_resource(row) for row in page])

    @extend_schema(
        operation_id="sync_schedules_create",
        request=serializers.SyncScheduleIn,
        responses={201: schema_of(serializers.SyncScheduleOut)},
    )
    def post(self, request: Request) -> Response:
        owner, order = current_user(request), parse_schedule(validated(serializers.SyncScheduleIn, request.data))
        return idempotent_response(request, lambda: (201, schedule_resource(add_schedule(owner=owner, **order))))


class SyncScheduleView(APIView):
    """One of your schedules of syncs."""

    scopes: ClassVar = SCOPES

    @extend_schema(operation_id="sync_schedules_remove", responses={204: None})
    def delete(self, request: Request, schedule_id: str) -> Response:
        """Delete a schedule.

        Running syncs continue.
        """
        remove_schedule(owner=current_user(request), schedule_id=parse_public_id(SCHEDULE_PREFIX, schedule_id))
        return Response(status=204)


class InstanceArchiveView(APIView):
    """Return the archive setting of an instance's data disk, used before its deletion after a long stop."""

    scopes: ClassVar = SCOPES

    @extend_schema(operation_id="instances_archive", responses=schema_of(serializers.ArchiveOut))
    def get(self, request: Request, instance_id: str) -> Response:
        return Response(archive_resource(instance_of(current_user(request), instance_id_of(instance_id))))

    @extend_schema(
        operation_id="instances_archive_set", request=serializers.ArchiveIn, responses=schema_of(serializers.ArchiveOut)
    )
    def put(self, request: Request, instance_id: str) -> Response:
        renter, wanted = current_user(request), validated(serializers.ArchiveIn, request.data)
        chosen = parse_connection_id(wanted.get("connection"), needed=wanted["archive"] == "on")
        row_id = instance_id_of(instance_id)
        set_archive(renter=renter, instance_id=row_id, choice=wanted["archive"], connection_id=chosen)
        return Response(archive_resource(instance_of(renter, row_id)))


class ArchiveDefaultView(APIView):
    """Return the default archive setting for data disks."""

    scopes: ClassVar = SCOPES

    @extend_schema(operation_id="archive_default", responses=schema_of(serializers.ArchiveDefaultOut))
    def get(self, request: Request) -> Response:
        return Response(archive_default_resource(archive_default(current_user(request).pk)))

    @extend_schema(
        operation_id="archive_default_set",
        request=serializers.ArchiveDefaultIn,
        responses=schema_of(serializers.ArchiveDefaultOut),
    )
    def put(self, request: Request) -> Response:
        """Set the default archive setting for data disks; instances can override it."""
        renter, wanted = current_user(request), validated(serializers.ArchiveDefaultIn, request.data)
        set_archive_default(renter=renter, connection_id=parse_connection_id(wanted["connection"]))
        return Response(archive_default_resource(archive_default(renter.pk)))


def _order(wanted: dict[str, Any]) -> dict[str, Any]:
    return {
        "connection_id": parse_connection_id(wanted["connection"], needed=True),
        "sync_request": parse_sync_request(wanted),
    }


def _started(owner: User, begun: Any) -> tuple[int, serializers.SyncOut]:
    return 202, sync_resource(sync_of(owner.pk, begun.pk))
