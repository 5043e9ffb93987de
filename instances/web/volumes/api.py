"""API of volumes, snapshots and public data sets.

It is here, above storage, since instances attach volumes and make snapshots.
"""

from typing import TYPE_CHECKING, Any, ClassVar, cast
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.generics import GenericAPIView
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.constants import STORAGE_SCOPES
from accounts.models import User
from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user
from common import clock
from common.errors import wrong_field
from common.http.resource_schemas import list_of, schema_of
from common.http.views import validated
from common.ids import parse_public_id
from common.money import parse_money
from instances.core.selectors import instance_of
from instances.volumes.attach import (
    attach_data_set,
    attach_volume,
    detach_data_set,
    detach_volume,
    restore_disk,
    snapshot_disk,
)
from instances.web.resources import HOST_PREFIX
from instances.web.responses import instance_id_of, require_connect_scope_to_mount
from instances.web.volumes import resources, serializers
from instances.web.volumes.resources import (
    SNAPSHOT_PREFIX,
    VOLUME_PREFIX,
    data_set_resource,
    shown_disks,
    shown_snapshot,
    shown_volume,
    snapshot_resource,
    storage_host_resource,
    volume_resource,
)
from instances.web.volumes.rows import snapshot_rows, volume_rows
from marketplace.hosts.storage_selectors import storage_hosts
from storage.states import SnapshotSource
from storage.volumes.data_sets import publish_snapshot, withdraw_data_set
from storage.volumes.selectors import (
    data_set_named,
    data_sets,
    snapshot_of,
    snapshots_of,
    volumes_of,
)
from storage.volumes.snapshots import delete_snapshot, restore_volume, snapshot_volume
from storage.volumes.volumes import create_volume, delete_volume

if TYPE_CHECKING:
    from storage.models import Snapshot


class StorageHostsView(APIView):
    """List the hosts that can store volumes now, with their price per GB."""

    permission_classes = (AllowAny,)

    @extend_schema(operation_id="storage_hosts", responses=list_of(resources.StorageHostOut))
    def get(self, request: Request) -> Response:
        return Response([storage_host_resource(host) for host in storage_hosts()])


class VolumesView(GenericAPIView[Any]):
    """List your volumes."""

    scopes: ClassVar = STORAGE_SCOPES
    serializer_class = schema_of(resources.VolumeOut)

    def get_queryset(self) -> QuerySet[Any]:
        return volumes_of(current_user(self.request).pk)

    @extend_schema(operation_id="volumes_list", responses=list_of(resources.VolumeOut))
    def get(self, request: Request) -> Response:
        page = cast("list[Any]", self.paginate_queryset(self.get_queryset()))
        return self.get_paginated_response([volume_resource(row) for row in volume_rows(page, clock.now())])

    @extend_schema(
        operation_id="volumes_create", request=serializers.VolumeIn, responses={201: schema_of(resources.VolumeOut)}
    )
    def post(self, request: Request) -> Response:
        wanted, owner = validated(serializers.VolumeIn, request.data), current_user(request)
        most = wanted.get("max_daily_rate")
        order: dict[str, Any] = {
            "name": wanted["name"],
            "size_gb": wanted.get("size_gb"),
            "host_id": _id_or_none(HOST_PREFIX, wanted.get("host")),
            "snapshot_id": _id_or_none(SNAPSHOT_PREFIX, wanted.get("snapshot")),
            "max_micros_per_day": None if most is None else parse_money(most),
        }
        return idempotent_response(request, lambda: (201, shown_volume(owner, create_volume(owner=owner, **order).pk)))


class VolumeView(APIView):
    """Return one of your volumes."""

    scopes: ClassVar = STORAGE_SCOPES

    @extend_schema(operation_id="volumes_retrieve", responses=schema_of(resources.VolumeOut))
    def get(self, request: Request, volume_id: str) -> Response:
        return Response(shown_volume(current_user(request), parse_public_id(VOLUME_PREFIX, volume_id)))

    @extend_schema(operation_id="volumes_delete", responses={202: schema_of(resources.VolumeOut)})
    def delete(self, request: Request, volume_id: str) -> Response:
        """Delete a volume with everything on it.

        Repeating it changes nothing.
        """
        owner, row_id = current_user(request), parse_public_id(VOLUME_PREFIX, volume_id)
        delete_volume(owner=owner, volume_id=row_id)
        return Response(shown_volume(owner, row_id), status=202)


class VolumeAttachView(APIView):
    """Attach a volume to a stopped instance of its host."""

    scopes: ClassVar = STORAGE_SCOPES

    @extend_schema(
        operation_id="volumes_attach", request=serializers.AttachIn, responses={202: schema_of(resources.VolumeOut)}
    )
    def post(self, request: Request, volume_id: str) -> Response:
        """Attach a volume to a stopped instance on its host, which mounts it at its next start.

        If the instance has launch settings, or an image that isn't official, this also requires the scope
        `instances:connect`.
        """
        renter, row_id = current_user(request), parse_public_id(VOLUME_PREFIX, volume_id)
        instance_id = instance_id_of(validated(serializers.AttachIn, request.data)["instance"])
        require_connect_scope_to_mount(request, instance_of(renter, instance_id))

        def attach() -> tuple[int, Any]:
            attach_volume(renter=renter, volume_id=row_id, instance_id=instance_id)
            return 202, shown_volume(renter, row_id)

        return idempotent_response(request, attach)


class VolumeDetachView(APIView):
    """Detach a volume from its instance, which must be stopped."""

    scopes: ClassVar = STORAGE_SCOPES

    @extend_schema(operation_id="volumes_detach", request=None, responses={202: schema_of(resources.VolumeOut)})
    def post(self, request: Request, volume_id: str) -> Response:
        renter, row_id = current_user(request), parse_public_id(VOLUME_PREFIX, volume_id)

        def detach() -> tuple[int, Any]:
            detach_volume(renter=renter, volume_id=row_id)
            return 202, shown_volume(renter, row_id)

        return idempotent_response(request, detach)


class SnapshotsView(GenericAPIView[Any]):
    """List your snapshots."""

    scopes: ClassVar = STORAGE_SCOPES
    serializer_class = schema_of(resources.SnapshotOut)

    def get_queryset(self) -> QuerySet[Any]:
        return snapshots_of(current_user(self.request).pk)

    @extend_schema(operation_id="snapshots_list", responses=list_of(resources.SnapshotOut))
    def get(self, request: Request) -> Response:
        page = cast("list[Any]", self.paginate_queryset(self.get_queryset()))
        return self.get_paginated_response([snapshot_resource(row) for row in snapshot_rows(page, clock.now())])

    @extend_schema(
        operation_id="snapshots_create", request=serializers.SnapshotIn, responses={201: schema_of(resources.SnapshotOut)}
    )
    def post(self, request: Request) -> Response:
        wanted, owner = validated(serializers.SnapshotIn, request.data), current_user(request)
        return idempotent_response(request, lambda: (201, shown_snapshot(owner, _take_snapshot(owner, wanted).pk)))


class SnapshotView(APIView):
    """Return one of your snapshots."""

    scopes: ClassVar = STORAGE_SCOPES

    @extend_schema(operation_id="snapshots_retrieve", responses=schema_of(resources.SnapshotOut))
    def get(self, request: Request, snapshot_id: str) -> Response:
        return Response(shown_snapshot(current_user(request), parse_public_id(SNAPSHOT_PREFIX, snapshot_id)))

    @extend_schema(operation_id="snapshots_delete", responses={202: schema_of(resources.SnapshotOut)})
    def delete(self, request: Request, snapshot_id: str) -> Response:
        owner, row_id = current_user(request), parse_public_id(SNAPSHOT_PREFIX, snapshot_id)
        delete_snapshot(owner=owner, snapshot_id=row_id)
        return Response(shown_snapshot(owner, row_id), status=202)


class SnapshotRestoreView(APIView):
    """Restore a volume, or the data disk of a stopped instance, from a snapshot.

    Whatever was written since is lost.
    """

    scopes: ClassVar = STORAGE_SCOPES

    @extend_schema(operation_id="snapshots_restore", request=None, responses={202: schema_of(resources.SnapshotOut)})
    def post(self, request: Request, snapshot_id: str) -> Response:
        owner, row_id = current_user(request), parse_public_id(SNAPSHOT_PREFIX, snapshot_id)

        def restore() -> tuple[int, Any]:
            restore_snapshot(owner, row_id)
            return 202, shown_snapshot(owner, row_id)

        return idempotent_response(request, restore)


class DataSetsView(GenericAPIView[Any]):
    """List public data sets."""

    scopes: ClassVar = STORAGE_SCOPES
    serializer_class = schema_of(resources.DataSetOut)
    ordering: ClassVar = ("slug",)

    def get_queryset(self) -> QuerySet[Any]:
        return data_sets()

    @extend_schema(operation_id="datasets_list", responses=list_of(resources.DataSetOut))
    def get(self, request: Request) -> Response:
        page = cast("list[Any]", self.paginate_queryset(self.get_queryset()))
        return self.get_paginated_response([data_set_resource(found) for found in page])

    @extend_schema(
        operation_id="datasets_publish", request=serializers.DataSetIn, responses={201: schema_of(resources.DataSetOut)}
    )
    def post(self, request: Request) -> Response:
        """Publish one of your own snapshots for everyone to read.

        Only staff may do that.
        """
        wanted, staff = validated(serializers.DataSetIn, request.data), current_user(request)
        snapshot_id = parse_public_id(SNAPSHOT_PREFIX, wanted.pop("snapshot"))
        order: dict[str, Any] = {"staff": staff, "snapshot_id": snapshot_id, **wanted}
        return idempotent_response(request, lambda: (201, data_set_resource(data_set_named(publish_snapshot(**order).slug))))


class DataSetView(APIView):
    """One public data set."""

    scopes: ClassVar = STORAGE_SCOPES

    @extend_schema(operation_id="datasets_retrieve", responses=schema_of(resources.DataSetOut))
    def get(self, request: Request, slug: str) -> Response:
        """Return one public data set."""
        return Response(data_set_resource(data_set_named(slug)))

    @extend_schema(operation_id="datasets_withdraw", responses={204: None})
    def delete(self, request: Request, slug: str) -> Response:
        """Withdraw a public data set, so that no further instance can mount it.

        Only staff may do that.
        """
        withdraw_data_set(staff=current_user(request), slug=slug)
        return Response(status=204)


class DataSetAttachView(APIView):
    """Mount a public data set in a stopped instance on its host, starting with the next start."""

    scopes: ClassVar = STORAGE_SCOPES

    @extend_schema(
        operation_id="datasets_attach",
        request=serializers.AttachIn,
        responses={202: schema_of(resources.InstanceStorageOut)},
    )
    def post(self, request: Request, slug: str) -> Response:
        return _mount(request, slug, attach_data_set)


class DataSetDetachView(APIView):
    """Unmount a public data set from an instance, which must be stopped."""

    scopes: ClassVar = STORAGE_SCOPES

    @extend_schema(
        operation_id="datasets_detach",
        request=serializers.AttachIn,
        responses={202: schema_of(resources.InstanceStorageOut)},
    )
    def post(self, request: Request, slug: str) -> Response:
        return _mount(request, slug, detach_data_set)


class InstanceStorageView(APIView):
    """Return the disk, volumes and data sets of an instance, with their usage."""

    scopes: ClassVar = STORAGE_SCOPES

    @extend_schema(operation_id="instances_storage", responses=schema_of(resources.InstanceStorageOut))
    def get(self, request: Request, instance_id: str) -> Response:
        return Response(shown_disks(current_user(request), instance_id_of(instance_id)))


def restore_snapshot(owner: User, snapshot_id: UUID) -> None:
    """Restore a volume or a data disk, whichever the snapshot is a copy of."""
    if snapshot_of(owner.pk, snapshot_id).source_kind == SnapshotSource.VOLUME:
        restore_volume(owner=owner, snapshot_id=snapshot_id)
    else:
        restore_disk(renter=owner, snapshot_id=snapshot_id)


def _take_snapshot(owner: User, wanted: dict[str, Any]) -> "Snapshot":
    volume, instance = wanted.get("volume"), wanted.get("instance")
    if (volume is None) == (instance is None):
        raise wrong_field("volume", "Name either a volume or an instance.")
    if volume is not None:
        return snapshot_volume(owner=owner, volume_id=parse_public_id(VOLUME_PREFIX, volume), name=wanted["name"])
    return snapshot_disk(renter=owner, instance_id=instance_id_of(str(instance)), name=wanted["name"])


def _mount(request: Request, slug: str, change: Any) -> Response:
    renter = current_user(request)
    instance_id = instance_id_of(validated(serializers.AttachIn, request.data)["instance"])

    def work() -> tuple[int, Any]:
        change(renter=renter, slug=slug, instance_id=instance_id)
        return 202, shown_disks(renter, instance_id)

    return idempotent_response(request, work)


def _id_or_none(prefix: str, text: str | None) -> UUID | None:
    return None if not text else parse_public_id(prefix, text)
