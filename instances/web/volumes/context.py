"""Template contexts of volumes, snapshots and public data sets."""

from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django.core.paginator import Paginator

from accounts.models import User
from common import clock
from common.ids import parse_public_id, public_id
from instances.core.selectors import instance_of
from instances.core.storage_selectors import instances_with_disks, stopped_instances_on
from instances.states import InstanceState
from instances.web.object_sync.context import archive_context
from instances.web.volumes.forms import DataSetForm, SnapshotForm, VolumeForm
from instances.web.volumes.rows import snapshot_rows, volume_rows
from instances.web.volumes.transfer_context import movable_volumes
from marketplace.hosts.storage_selectors import storage_hosts
from storage.constants import UNPAID_KEPT
from storage.states import SnapshotState, VolumeState
from storage.volumes.selectors import (
    attachments_of,
    data_sets,
    disk_uses,
    open_operations,
    snapshot_of,
    snapshots_of,
    volumes_of,
)

if TYPE_CHECKING:
    from storage.models import DataSet, Volume

ROWS_ON_A_PAGE: Final = 20
_AT_REST: Final = (InstanceState.STOPPED, InstanceState.FAILED)


def volumes_context(user: User, page: str | None) -> dict[str, Any]:
    found = Paginator(volumes_of(user.pk), ROWS_ON_A_PAGE).get_page(page)
    rows = volume_rows(list(found.object_list), clock.now())
    homes: dict[UUID, list[Any]] = {}
    for instance in stopped_instances_on(user.pk, [row.volume.host_id for row in rows if row.is_free]):
        homes.setdefault(instance.host_id, []).append(instance)
    shown = [{"row": row, "homes": homes.get(row.volume.host_id, [])} for row in rows]
    return {"page": found, "rows": shown, "unpaid_days": UNPAID_KEPT.days}


def volume_form(user: User, sent: Any, snapshot_text: str) -> VolumeForm:
    """Return the form of a volume from the named snapshot, if any.

    Raises NotFound for another user's snapshot.
    """
    text = snapshot_text or (sent or {}).get("snapshot", "")
    snapshot = snapshot_of(user.pk, parse_public_id("snap", text)) if text else None
    return VolumeForm(sent, auto_id="volume-%s", hosts=storage_hosts(), snapshot=snapshot)


def snapshots_context(user: User, page: str | None) -> dict[str, Any]:
    found = Paginator(snapshots_of(user.pk), ROWS_ON_A_PAGE).get_page(page)
    return {
        "page": found,
        "rows": snapshot_rows(list(found.object_list), clock.now()),
        "unpaid_days": UNPAID_KEPT.days,
    }


def snapshot_form(user: User, sent: Any, source: str) -> SnapshotForm:
    volumes = volumes_of(user.pk).filter(state=VolumeState.READY)
    sources = [(public_id("vol", row.pk), f"{row.name} · {row.size_gb} GB") for row in volumes]
    disks = instances_with_disks(user.pk)
    sources += [(public_id("inst", row.pk), f"{row.name} · /data · {row.data_disk_gb} GB") for row in disks]
    return SnapshotForm(sent, auto_id="snapshot-%s", initial={"source": source}, sources=sources)


def public_context(user: User | None) -> dict[str, Any]:
    """Return the context of public data sets.

    A user with a login sees which of their instances could mount each.
    """
    found = list(data_sets())
    homes: dict[UUID, list[Any]] = {}
    if user is not None:
        for instance in stopped_instances_on(user.pk, [each.snapshot.host_id for each in found]):
            homes.setdefault(instance.host_id, []).append(instance)
    return {"rows": [{"set": each, "homes": homes.get(each.snapshot.host_id, [])} for each in found]}


def data_set_form(staff: User, sent: Any) -> DataSetForm:
    ready = snapshots_of(staff.pk).filter(state=SnapshotState.READY, data_set=None)
    return DataSetForm(sent, auto_id="set-%s", snapshots=ready)


def disks_context(user: User, instance_id: UUID) -> dict[str, Any]:
    """Return the context of an instance's disk, volumes and data sets."""
    instance = instance_of(user, instance_id)
    at_rest = instance.state in _AT_REST and instance.is_proven_stopped
    mounts = attachments_of([instance.pk])
    ids = [instance.pk, *(each.volume_id for each in mounts if each.volume_id is not None)]
    uses = disk_uses(ids)
    volumes = [(each.volume, uses.get(each.volume.pk)) for each in mounts if each.volume is not None]
    return {
        "it": instance,
        "at_rest": at_rest,
        "can_be_copied": instance.started_at is not None and instance.state in (*_AT_REST, InstanceState.RUNNING),
        "use": uses.get(instance.pk),
        "work": open_operations([instance.pk]).get(instance.pk),
        "volumes": volumes,
        "sets": [each.data_set for each in mounts if each.data_set is not None],
        "free": free_volumes(user, instance.host_id) if at_rest else [],
        "away": movable_volumes(user, instance.host_id) if at_rest else [],
        **archive_context(instance, clock.now()),
    }


def free_volumes(user: User, host_id: UUID) -> list["Volume"]:
    """Return the user's free volumes on this host."""
    ready = list(volumes_of(user.pk).filter(host_id=host_id, state=VolumeState.READY).order_by("name"))
    return [row.volume for row in volume_rows(ready, clock.now()) if row.is_free]


def sets_on_host(host_id: UUID) -> list["DataSet"]:
    return list(data_sets().filter(snapshot__host_id=host_id))
